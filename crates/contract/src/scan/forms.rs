//! Signs that need no words: marks that control models, comments, encoded text, text out of sight, disguised letters,
//! names of arguments that ask for secrets.

use super::Talk;
use super::words::split_name;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// So many empty lines, or spaces in one line, put what follows out of sight.
const MAX_EMPTY_LINES: usize = 20;
const MAX_SPACES: usize = 120;
/// So many marks of one kind are looked at.
const MAX_TRIES: usize = 32;
/// Longest address of a picture in bytes.
const MAX_ADDRESS: usize = 600;
/// Shorter runs of base64 are names and numbers.
const MIN_ENCODED: usize = 28;
/// Fewer words in an address are no sentence.
const MIN_SENTENCE: usize = 4;
/// Where the scheme of an address ends at the latest, in bytes.
const MAX_HEAD: usize = 64;

/// Everything that a text shows by its form, with what it is seen by.
pub(super) fn judge(text: &str) -> Vec<(Talk, &str)> {
    let mut found = Vec::new();
    if memchr::memchr2(b'<', b'[', text.as_bytes()).is_some() {
        found.extend(mark(text).map(|mark| (Talk::Markup, mark)));
        found.extend(notice(text).map(|notice| (Talk::Markup, notice)));
        found.extend(leaking_picture(text).map(|picture| (Talk::Exfiltration, picture)));
        found.extend(comment(text).map(|comment| (Talk::Markup, comment)));
    }
    found.extend(speaker(text).map(|speaker| (Talk::Markup, speaker)));
    found.extend(out_of_sight(text).map(|rest| (Talk::OutOfSight, rest)));
    if !text.is_ascii() {
        found.extend(disguised(text).map(|word| (Talk::Disguise, word)));
    }
    found
}

/// Tags that have no meaning but to a model.
const TAGS: [&str; 15] = [
    "important",
    "system",
    "sys",
    "instructions",
    "instruction",
    "hidden",
    "secret",
    "admin",
    "override",
    "critical",
    "assistant",
    "system-reminder",
    "system_prompt",
    "directive",
    "mandatory",
];
/// Marks of chat templates.
const TEMPLATES: [&str; 9] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|endoftext|>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<start_of_turn>",
    "<|eot_id|>",
];
/// Ends of what a host may put around a description.
const ENDS: [&str; 6] = ["</tool>", "</tools>", "</description>", "</function>", "</functions>", "</tool_description>"];

fn mark(text: &str) -> Option<&str> {
    let fixed = TEMPLATES.iter().chain(&ENDS).find(|mark| text.contains(**mark)).copied();
    fixed.or_else(|| {
        let opens = memchr::memchr_iter(b'<', text.as_bytes());
        let tags = opens.filter_map(|at| tag(&text[at..])).filter(|tag| is_known(tag));
        tags.take(MAX_TRIES).find(|tag| is_meant_for_models(text, tag))
    })
}

/// The tag that a text begins with.
fn tag(text: &str) -> Option<&str> {
    let end = text.bytes().take(40).position(|byte| byte == b'>')?;
    text.get(..=end)
}

fn name_of(tag: &str) -> &str {
    tag.trim_matches(['<', '>', '/']).split_whitespace().next().unwrap_or_default()
}

fn is_known(tag: &str) -> bool {
    TAGS.iter().any(|known| name_of(tag).eq_ignore_ascii_case(known))
}

/// A placeholder looks the same: it has no closing tag and is not shouted.
fn is_meant_for_models(text: &str, tag: &str) -> bool {
    let name = name_of(tag);
    name.bytes().all(|byte| byte.is_ascii_uppercase()) || text.contains(&format!("</{name}>"))
}

/// Who speaks in a heading in brackets that is meant to command.
const SPEAKERS: [&str; 6] = ["SYSTEM", "ADMIN", "DEVELOPER", "ASSISTANT", "OVERRIDE", "ROOT"];

/// `[SYSTEM NOTICE]` and the like.
fn notice(text: &str) -> Option<&str> {
    let opens = memchr::memchr_iter(b'[', text.as_bytes());
    let inner = |at: usize| {
        let length = text.as_bytes()[at + 1..].iter().take(40).position(|byte| *byte == b']')?;
        text.get(at + 1..at + 1 + length)
    };
    opens.filter_map(inner).find(|inner| {
        let is_shouted = inner.bytes().all(|byte| byte.is_ascii_uppercase() || b" :-_".contains(&byte));
        let speaks = |inner: &str| SPEAKERS.iter().any(|speaker| inner.starts_with(speaker));
        (is_shouted && speaks(inner)) || (speaks(&inner.to_ascii_uppercase()) && text.contains(&format!("[/{inner}]")))
    })
}

/// Who speaks in a play.
const PARTS: [&str; 5] = ["SYSTEM:", "ASSISTANT:", "DEVELOPER:", "\nHuman:", "\nAssistant:"];

/// `SYSTEM:` and the like.
fn speaker(text: &str) -> Option<&str> {
    let ends = memchr::memchr_iter(b':', text.as_bytes()).map(|at| &text[..=at]);
    ends.filter_map(|before| PARTS.into_iter().find(|part| before.ends_with(part))).next()
}

/// A picture whose address has something filled in: showing it sends that away.
fn leaking_picture(text: &str) -> Option<&str> {
    let pictures = memchr::memmem::find_iter(text.as_bytes(), "](http").filter_map(|at| {
        let length = text.as_bytes()[at..].iter().take(MAX_ADDRESS).position(|byte| *byte == b')')?;
        let name = text[..at].rfind('[')?;
        let is_picture = at - name < MAX_ADDRESS && text[..name].ends_with('!');
        text.get(at + 2..at + length).filter(|_| is_picture)
    });
    let is_leak = |address: &&str| {
        let query = address.split_once('?').map(|(_, query)| query);
        query.is_some_and(|query| query.contains(['{', '<', '$', '[']))
    };
    pictures.take(MAX_TRIES).find(is_leak)
}

/// A comment with words in it, which nobody sees once it is rendered.
fn comment(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some((_, comment)) = rest.split_once("<!--") {
        let (inner, after) = comment.split_once("-->")?;
        if inner.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count() > 3 {
            return Some(inner.trim());
        }
        rest = after;
    }
    None
}

/// What stands behind a long empty space.
fn out_of_sight(text: &str) -> Option<&str> {
    if text.len() <= MAX_EMPTY_LINES {
        return None;
    }
    let (mut lines, mut spaces) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '\n' => (lines, spaces) = (lines + 1, 0),
            c if c.is_whitespace() => spaces += 1,
            _ if lines > MAX_EMPTY_LINES || spaces > MAX_SPACES => return Some(&text[at..]),
            _ => (lines, spaces) = (0, 0),
        }
    }
    None
}

/// A word of some length that mixes Latin letters with foreign ones.
fn disguised(text: &str) -> Option<&str> {
    let words = text.split(|c: char| !c.is_alphabetic());
    words.filter(|word| !word.is_ascii()).find(|word| {
        let (mut latin, mut foreign, mut greek) = (0, 0, 0);
        for c in word.chars() {
            match c {
                'a'..='z' | 'A'..='Z' => latin += 1,
                '\u{370}'..='\u{3FF}' => greek += 1,
                '\u{400}'..='\u{58F}' | '\u{13A0}'..='\u{13FF}' | '\u{2C80}'..='\u{2CFF}' => foreign += 1,
                _ => {}
            }
        }
        // Greek letters stand alone in names of units.
        latin > 0 && latin + foreign + greek > 3 && (foreign > 0 || greek > 1)
    })
}

/// Text of people in a run of base64, unless it is the source of an image, or in escapes of single characters.
pub(super) fn encoded(text: &str) -> Option<String> {
    if text.len() < MIN_ENCODED {
        return None;
    }
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut runs = text.as_bytes().split(|byte| !is_digit(byte)).filter(|run| run.len() >= MIN_ENCODED);
    let decoded = runs.find_map(|run| from_base64(std::str::from_utf8(run).ok()?));
    decoded.or_else(|| unescaped(text))
}

fn from_base64(run: &str) -> Option<String> {
    let digits = run.replace('-', "+").replace('_', "/");
    let whole = &digits[..digits.len() - usize::from(digits.len() % 4 == 1)];
    let decode = |text: &str| STANDARD_NO_PAD.decode(text).ok();
    let bytes = decode(whole).or_else(|| decode(&whole[..whole.len() / 4 * 4]))?;
    String::from_utf8(bytes).ok().filter(|inner| is_prose(inner))
}

/// What a row of `\x41`, `\u0041`, `%41` or `&#65;` spells.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '%', '&']) {
        rest = &rest[at..];
        match one_escape(rest) {
            Some((c, length)) => {
                out.push(c);
                rest = &rest[length..];
            }
            None => {
                rest = &rest[1..];
                if out.len() < MIN_ENCODED / 2 {
                    out.clear();
                }
            }
        }
    }
    (out.len() >= MIN_ENCODED / 2 && is_prose(&out)).then_some(out)
}

fn one_escape(text: &str) -> Option<(char, usize)> {
    let hex = |from: usize, digits: usize, end: usize| {
        let code = u32::from_str_radix(text.get(from..from + digits)?, 16).ok()?;
        Some((char::from_u32(code)?, end))
    };
    if text.starts_with("\\x") {
        return hex(2, 2, 4);
    }
    if text.starts_with("\\u") {
        return hex(2, 4, 6);
    }
    if text.starts_with('%') {
        return hex(1, 2, 3);
    }
    let number = text.strip_prefix("&#")?;
    let end = number.find(';').filter(|end| *end < 8)?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits.get(..end - 1)?, 16),
        None => number[..end].parse(),
    };
    Some((char::from_u32(code.ok()?)?, end + 3))
}

fn is_prose(text: &str) -> bool {
    let is_text = |c: char| !c.is_control() || c.is_whitespace();
    let words = text
        .split_whitespace()
        .filter(|word| word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || ",.:;!?'\"()-".contains(c)));
    text.chars().all(is_text) && words.count() > 2 && !text.trim_start().starts_with('<')
}

/// The words of addresses that are long enough to be sentences: `?ignore-all-previous-rules`.
pub(super) fn addresses(text: &str) -> Vec<String> {
    let starts = memchr::memmem::find_iter(text.as_bytes(), "://").take(MAX_TRIES);
    let said = starts.filter_map(|at| {
        let address = text[at + 3..].split(|c: char| c.is_whitespace() || "\"'<>()`".contains(c)).next()?;
        let behind = &address[address.find(['/', '?', '#'])?..];
        let words: Vec<&str> = behind.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        (words.len() >= MIN_SENTENCE).then(|| words.join(" "))
    });
    said.collect()
}

/// What runs in a picture, or has one fetched: a script, a handler, an address of a program.
pub(super) fn active(source: &str) -> Option<String> {
    let head = source.get(..MAX_HEAD).unwrap_or(source).to_ascii_lowercase();
    let head = head.trim_start();
    if ["javascript:", "vbscript:", "data:text/"].iter().any(|scheme| head.starts_with(scheme)) {
        return Some(source.to_owned());
    }
    let inner = head.starts_with("data:image/svg").then(|| match source.split_once(";base64,") {
        Some((_, digits)) => {
            let bytes = STANDARD_NO_PAD.decode(digits.trim_end_matches('=')).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        None => source.to_owned(),
    })?;
    let small = inner.to_ascii_lowercase();
    let handler = small.match_indices(" on").any(|(at, _)| {
        let name = small[at + 3..].split('=').next().unwrap_or_default();
        (3..20).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphabetic()) && small.contains('=')
    });
    let holds = ["<script", "%3cscript", "<foreignobject", "javascript:"].iter().any(|part| small.contains(part));
    (handler || holds).then_some(inner)
}

/// What only its owner should hold, as names of arguments say it.
const SECRETS: [&str; 15] = [
    "ssh",
    "rsa",
    "ed25519",
    "passwd",
    "shadow",
    "keychain",
    "wallet",
    "cookies",
    "netrc",
    "npmrc",
    "dotenv",
    "mcp",
    "kubeconfig",
    "credentials",
    "environment",
];
/// Words that ask for the inside of it.
const INSIDES: [&str; 9] = ["content", "contents", "reading", "read", "dump", "text", "file", "variables", "json"];

/// Whether an argument's name asks for the inside of a secret, or for what the model was told.
pub(super) fn asks_for_secret(name: &str) -> bool {
    let words = split_name(name);
    let has = |list: &[&str]| words.split(' ').filter(|word| list.contains(word)).count();
    let told = ["system prompt", "chain of thought", "chat history so far", "conversation so far"];
    let whole =
        ["full", "entire", "whole", "complete", "all"].iter().any(|word| words.split(' ').any(|one| one == *word));
    let said = ["history", "conversation", "chat", "transcript", "messages", "context"];
    let talks = said.iter().filter(|said| words.split(' ').any(|one| one == **said)).count();
    (has(&SECRETS) > 0 && has(&INSIDES) > 1)
        || (has(&SECRETS) > 1 && has(&INSIDES) > 0)
        || (words.contains("content") && has(&SECRETS) > 0)
        || (told.iter().any(|told| words.contains(told)) && talks > 0)
        || (whole && talks > 1)
        || (has(&INSIDES) > 0 && told.iter().any(|told| words.contains(told)))
}

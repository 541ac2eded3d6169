//! Which of the values that a server is given are secrets: told by the names of its variables, headers, options and
//! query fields, and by where in an address they stand. Hands out values, so what it returns is never printed.

use contract::answer::Cleaner;
use upstream::{Process, Transport};

/// Words in a name that say that its value is a secret.
const WORDS: [&str; 9] = ["TOKEN", "SECRET", "KEY", "PASS", "PWD", "AUTH", "CREDENTIAL", "COOKIE", "SESSION"];

/// The last words of names of options and query fields whose values are secrets.
const LAST_WORDS: [&str; 14] = [
    "token",
    "secret",
    "key",
    "apikey",
    "accesskey",
    "pass",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "auth",
    "authorization",
    "credential",
    "cookie",
];

/// What of a variable's value may steer a program: none of it where its name ends with a word for a secret, and no
/// password of an address.
pub(crate) fn steering(name: &str, value: &str) -> Option<String> {
    if names_one(name) {
        return None;
    }
    let secrets = in_address(value);
    Some(Cleaner::new(secrets.iter().map(String::as_str)).redact(value).into_owned())
}

/// The secrets of a server that can be reached or started like this.
pub(crate) fn of(transport: &Transport) -> Vec<String> {
    let (process, url, headers) = match transport {
        Transport::Stdio(process) => (Some(process), None, None),
        Transport::Http { url, headers } => (None, Some(url), Some(headers)),
        Transport::HttpChild { process, url, headers, .. } => (Some(process), Some(url), Some(headers)),
    };
    let mut secrets = process.map(of_process).unwrap_or_default();
    secrets.extend(url.into_iter().flat_map(|url| in_address(url)));
    for (_, value) in headers.into_iter().flatten().filter(|(name, _)| is_secret(name)) {
        // `Bearer TOKEN`: the scheme is none.
        secrets.extend(value.split_whitespace().map(String::from));
    }
    secrets
}

fn of_process(process: &Process) -> Vec<String> {
    let mut secrets = in_words([process.command.as_str()].into_iter().chain(process.args.iter().map(String::as_str)));
    for (name, value) in &process.env {
        if is_secret(name) {
            secrets.extend(whole_and_parts(value));
        } else {
            secrets.extend(in_address(value));
        }
    }
    secrets
}

/// A value as a whole; of a key of many lines, or a scheme and a token, each part too.
fn whole_and_parts(value: &str) -> impl Iterator<Item = String> {
    let parts = value.split_whitespace().filter(move |part| *part != value);
    [value].into_iter().chain(parts).map(String::from)
}

/// The secrets in the words of a command line: `--token VALUE`, `--token=VALUE`, `TOKEN=VALUE`, addresses.
pub(crate) fn in_words<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut is_next = false;
    for word in words {
        let was_next = std::mem::replace(&mut is_next, false);
        match word.split_once('=') {
            Some((name, value)) if is_name(name) && names_one(name) => secrets.push(value.to_owned()),
            None if word.starts_with('-') && is_name(word) => is_next = names_one(word),
            _ if was_next => secrets.extend(whole_and_parts(word)),
            // `--header 'Authorization: Bearer TOKEN'`
            _ => match word.split_once(':') {
                Some((name, value)) if is_name(name) && names_one(name) => {
                    secrets.extend(value.split_whitespace().map(String::from));
                }
                _ => secrets.extend(in_address(word)),
            },
        }
    }
    secrets
}

/// The password of an address, and what stands in its query under a name of a secret.
fn in_address(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.split_once("://") else { return Vec::new() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let mut secrets = Vec::new();
    if let Some((user, _)) = rest[..end].rsplit_once('@') {
        secrets.push(user.split_once(':').map_or(user, |(_, password)| password).to_owned());
    }
    let query = rest.split_once('?').map(|(_, query)| query.split('#').next().unwrap_or_default()).unwrap_or_default();
    let fields = query.split('&').filter_map(|field| field.split_once('='));
    secrets.extend(fields.filter(|(name, _)| names_one(name)).map(|(_, value)| value.to_owned()));
    secrets
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// The same of an option or a field, of which many only speak of secrets: `--max-tokens`, `--key-file`.
fn names_one(name: &str) -> bool {
    let letters = name.as_bytes();
    let begins = |at: &usize| {
        let (before, here) = (letters[*at - 1], letters[*at]);
        matches!(before, b'-' | b'_' | b'.') || (before.is_ascii_lowercase() && here.is_ascii_uppercase())
    };
    let last = (1..letters.len()).rev().find(begins).unwrap_or(0);
    LAST_WORDS.contains(&name[last..].to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn check(words: &[&str], expect: &[&str]) {
        assert_eq!(in_words(words.iter().copied()), expect, "{words:?}");
    }

    #[test]
    fn a_command_line_says_by_its_names_what_is_secret() {
        check(&["serve", "--port", "8080"], &[]);
        check(&["--token", "abc", "next"], &["abc"]);
        check(&["--api-key=abc", "GITHUB_TOKEN=def"], &["abc", "def"]);
        check(&["--header", "Authorization: Bearer abc"], &["Bearer", "abc"]);
        check(&["--no-auth", "--port", "1"], &[]);
        check(&["--max-tokens", "100000", "--key-file", "/a/b", "--monkey", "x", "--apiKey", "abc"], &["abc"]);
        check(&["postgres://me:pa%20ss@db.example/x?sslmode=require"], &["pa%20ss"]);
        check(&["https://tok@example.org/x?api_key=abc&n=1#top"], &["tok", "abc"]);
        check(&["https://example.org/@scope/x"], &[]);
    }

    #[test]
    fn variables_and_headers_too() {
        let env = [("API_TOKEN", "one two-words"), ("DB", "mysql://u:pw@h"), ("HOME_DIR", "/x")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let process = Process { command: "run".into(), args: vec!["--password".into(), "arg".into()], env, cwd: None };
        assert_eq!(of(&Transport::Stdio(process)), ["arg", "one two-words", "one", "two-words", "pw"]);
        let headers = [("X-Api-Key".to_owned(), "key".to_owned()), ("Accept".to_owned(), "text".to_owned())].into();
        let http = Transport::Http { url: "https://h/x?token=abc".into(), headers };
        assert_eq!(of(&http), ["abc", "key"]);
    }
}

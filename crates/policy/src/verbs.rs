//! What a name says about what it does. A guess that only ever makes Callgate ask less where nothing in the whole
//! name speaks against it, and more wherever something does.

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameSays {
    /// It reads, and nothing in the name says anything else.
    Reads,
    /// It does something that is hard to take back: the word that says so.
    Risk(&'static str),
    /// Anything else.
    Nothing,
}

/// First words that promise reading.
const READ: [&str; 20] = [
    "get", "list", "read", "search", "find", "show", "describe", "fetch", "view", "lookup", "count", "check", "status",
    "browse", "inspect", "explain", "validate", "diff", "echo", "ping",
];

/// Words that are hardly ever anything but verbs: they count wherever they stand.
const RISK: [&str; 22] = [
    "delete",
    "drop",
    "reset",
    "send",
    "pay",
    "exec",
    "execute",
    "remove",
    "destroy",
    "purge",
    "wipe",
    "truncate",
    "kill",
    "terminate",
    "publish",
    "uninstall",
    "revoke",
    "erase",
    "evaluate",
    "eval",
    "rollback",
    "rerun",
];

/// Words that are as often things (`list_merge_requests`, `get_post`): they count where no other verb leads.
const RISK_OR_THING: [&str; 10] =
    ["merge", "post", "deploy", "run", "shell", "transfer", "payment", "refund", "charge", "push"];

/// Words that change something; behind a read verb they take the promise back (`find_and_replace`).
const WRITE: [&str; 44] = [
    "create", "add", "update", "set", "edit", "write", "insert", "append", "put", "patch", "replace", "rename", "move",
    "upload", "save", "store", "modify", "manage", "assign", "apply", "import", "install", "enable", "disable",
    "start", "stop", "restart", "cancel", "close", "open", "approve", "reject", "submit", "upsert", "toggle", "clear",
    "archive", "sync", "book", "order", "buy", "invite", "mark", "make",
];

/// Words between two things that one tool does.
const JOINTS: [&str; 5] = ["and", "or", "then", "plus", "n"];

/// Reads a tool's own name.
pub(crate) fn name_says(name: &str) -> NameSays {
    let words: Vec<String> = words(name).collect();
    let mut all_read = !words.is_empty();
    for part in words.split(|word| JOINTS.contains(&&**word)) {
        match part_says(part) {
            NameSays::Risk(verb) => return NameSays::Risk(verb),
            NameSays::Nothing => all_read = false,
            NameSays::Reads => {}
        }
    }
    if all_read { NameSays::Reads } else { NameSays::Nothing }
}

fn part_says(part: &[String]) -> NameSays {
    let known = |list: &[&'static str], word: &str| list.iter().find(|verb| **verb == word).copied();
    let reads = part.first().is_some_and(|word| known(&READ, word).is_some());
    let mut writes = false;
    for (place, word) in part.iter().enumerate() {
        if let Some(verb) = known(&RISK, word) {
            return NameSays::Risk(verb);
        }
        let is_request = word == "merge" && part.get(place + 1).is_some_and(|next| next.starts_with("request"));
        if known(&WRITE, word).is_some() {
            writes = true;
        } else if let Some(verb) = known(&RISK_OR_THING, word)
            && !(reads || writes || is_request)
        {
            return NameSays::Risk(verb);
        }
    }
    if reads && !writes { NameSays::Reads } else { NameSays::Nothing }
}

/// The words of `snake_case`, `kebab-case`, `dot.case` and `camelCase` names, in small letters.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut out: Vec<String> = Vec::new();
    let mut lower_before = false;
    for c in name.chars() {
        let starts = (c.is_uppercase() && lower_before) || out.is_empty();
        lower_before = c.is_lowercase() || c.is_ascii_digit();
        if !c.is_alphanumeric() {
            if out.last().is_none_or(|word| !word.is_empty()) {
                out.push(String::new());
            }
            continue;
        }
        if starts && out.last().is_none_or(|word| !word.is_empty()) {
            out.push(String::new());
        }
        if let Some(word) = out.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    out.into_iter().filter(|word| !word.is_empty())
}

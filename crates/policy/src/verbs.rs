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
const RISK: [&str; 31] = [
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
    "overwrite",
    "rm",
    "rmdir",
    "del",
    "unlink",
    "flush",
    "shutdown",
    "reboot",
    "withdraw",
];

/// Words that are as often things (`update_post`): they count where no other verb leads. Behind a read verb (`get_post`)
/// nobody can tell, and the promise is taken back.
const RISK_OR_THING: [&str; 10] =
    ["merge", "post", "deploy", "run", "shell", "transfer", "payment", "refund", "charge", "push"];

/// Words that change something; behind a read verb they take the promise back (`find_and_replace`).
const WRITE: [&str; 63] = [
    "create",
    "add",
    "update",
    "set",
    "edit",
    "write",
    "insert",
    "append",
    "put",
    "patch",
    "replace",
    "rename",
    "move",
    "upload",
    "save",
    "store",
    "modify",
    "manage",
    "assign",
    "apply",
    "import",
    "install",
    "enable",
    "disable",
    "start",
    "stop",
    "restart",
    "cancel",
    "close",
    "open",
    "approve",
    "reject",
    "submit",
    "upsert",
    "toggle",
    "clear",
    "archive",
    "sync",
    "book",
    "order",
    "buy",
    "invite",
    "mark",
    "make",
    "format",
    "inc",
    "incr",
    "increment",
    "dec",
    "decr",
    "decrement",
    "checkout",
    "checkin",
    "unlock",
    "migrate",
    "rotate",
    "revert",
    "restore",
    "undo",
    "detach",
    "invoke",
    "unsubscribe",
    "reschedule",
];

/// Words between two things that one tool does.
const JOINTS: [&str; 5] = ["and", "or", "then", "plus", "n"];

/// Where words of a name end beside what is no letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Split {
    /// Before a capital behind a small letter or a digit: `readFile`, `v2Api`.
    Plain,
    /// Also beside digits, and before the last capital of several that a small letter follows: `DELETEAll`.
    Before,
    /// Also beside digits, and behind the last capital of several: `DELETEall`.
    Behind,
}

/// Reads a tool's own name, in each way in which it can be read, and believes the worst.
pub(crate) fn name_says(name: &str) -> NameSays {
    let mut worst = NameSays::Reads;
    for split in [Split::Plain, Split::Before, Split::Behind] {
        match says(&words(name, split)) {
            NameSays::Risk(verb) => return NameSays::Risk(verb),
            NameSays::Nothing => worst = NameSays::Nothing,
            NameSays::Reads => {}
        }
    }
    worst
}

fn says(words: &[String]) -> NameSays {
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
    // `check_out`, `check_in`
    let mut writes = matches!(part, [first, second, ..] if first == "check" && matches!(&**second, "out" | "in"));
    for (place, word) in part.iter().enumerate() {
        if let Some(verb) = known(&RISK, word) {
            return NameSays::Risk(verb);
        }
        let is_request = word == "merge" && part.get(place + 1).is_some_and(|next| next.starts_with("request"));
        if known(&WRITE, word).is_some() {
            writes = true;
        } else if let Some(verb) = known(&RISK_OR_THING, word).filter(|_| !is_request) {
            if !(reads || writes) {
                return NameSays::Risk(verb);
            }
            writes = true;
        }
    }
    if reads && !writes { NameSays::Reads } else { NameSays::Nothing }
}

/// The words of `snake_case`, `kebab-case`, `dot.case` and `camelCase` names, in small letters.
fn words(name: &str, split: Split) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut out = vec![String::new()];
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| chars.get(before)).copied().unwrap_or('_');
        let after = chars.get(at + 1).copied().unwrap_or('_');
        let is_capital = |at: usize| chars.get(at).is_some_and(|c| c.is_uppercase());
        let starts = match split {
            _ if c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) => true,
            Split::Plain => false,
            _ if c.is_ascii_digit() != before.is_ascii_digit() => true,
            Split::Before => c.is_uppercase() && before.is_uppercase() && after.is_lowercase(),
            Split::Behind => c.is_lowercase() && before.is_uppercase() && at >= 2 && is_capital(at - 2),
        };
        if starts || !c.is_alphanumeric() {
            out.push(String::new());
        }
        if let Some(word) = out.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    out.retain(|word| !word.is_empty());
    out
}

//! Which known word a mistyped one was meant to be.

/// The known word that differs least, if it differs by little.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = plain(word);
    let allowed = if word.len() < 4 { 1 } else { 2 };
    known
        .map(|candidate| (distance(&word, &plain(candidate)), candidate))
        .filter(|(far, _)| *far <= allowed)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// Case, hyphens and underscores are matters of habit.
fn plain(word: &str) -> Vec<char> {
    word.chars().take(64).filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i];
        for j in 1..=b.len() {
            let replaced = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let known = ["command", "args", "env", "cwd", "idleStopSeconds"];
        let check = |word: &str, expect: Option<&str>| assert_eq!(nearest(word, known.into_iter()), expect, "{word}");
        check("comand", Some("command"));
        check("Args", Some("args"));
        check("agrs", Some("args"));
        check("idle_stop_seconds", Some("idleStopSeconds"));
        check("emv", Some("env"));
        check("xyz", None);
        check("", None);
        check("environment", None);
    }
}

//! Log lines for people.

use operator::visible::escape;
use operator::words::LogLine;

/// One line, whole; tabs stay, since logs are often aligned with them.
pub fn line(line: &LogLine) -> String {
    let text: Vec<_> = line.text.split('\t').map(escape).collect();
    text.join("\t") + "\n"
}

//! What is wrong with the config, for people.

use super::screen::{Ink, Screen};
use operator::visible::escape;
use operator::words::{ConfigProblem, ConfigReport};

/// Every problem with its place, then the verdict.
pub fn report(report: &ConfigReport, screen: &Screen) -> String {
    let mut out = String::new();
    for problem in &report.errors {
        out.push_str(&self::problem(problem, "error", Ink::Bad, screen));
    }
    for problem in &report.warnings {
        out.push_str(&self::problem(problem, "warning", Ink::Warm, screen));
    }
    let file = escape(&report.file);
    let many = |number: usize, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    let verdict = match report.errors.len() {
        0 => format!("{} {file}: {}\n", screen.paint(Ink::Good, "ok"), many(report.servers.len(), "server")),
        errors => format!("{} {file}: {}\n", screen.paint(Ink::Bad, "bad"), many(errors, "error")),
    };
    out + &verdict
}

fn problem(problem: &ConfigProblem, word: &str, ink: Ink, screen: &Screen) -> String {
    let place = match problem.line {
        0 => escape(&problem.file).into_owned(),
        line => format!("{}:{line}:{}", escape(&problem.file), problem.column),
    };
    let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", escape(&problem.key)) };
    format!("{place}: {}: {}{}\n", screen.paint(ink, word), screen.paint(Ink::Bold, &key), escape(&problem.message))
}

//! The examples of docs/policy.md are rules that are accepted and conditions that do what is said of them.

use super::{book, rule, tool};
use crate::{Facts, Fallback, RuleSource, Rulebook, Then, Why};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/policy.md");

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = PAGE.split("```").collect();
    let inside = parts.iter().skip(1).step_by(2);
    inside.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

fn source(rule: &Value) -> RuleSource {
    let list = |key: &str| {
        let list = rule[key].as_array().into_iter().flatten();
        list.map(|pattern| pattern.as_str().unwrap().to_owned()).collect()
    };
    let text = |key: &str| rule[key].as_str().map(str::to_owned);
    RuleSource {
        name: text("name").unwrap(),
        tools: list("tools"),
        prompts: list("prompts"),
        resources: list("resources"),
        when: text("when"),
        then: serde_json::from_value(rule["then"].clone()).unwrap(),
        reason: text("reason"),
    }
}

#[test]
fn every_rule_of_the_page_is_accepted() {
    let policies = blocks("json");
    assert!(!policies.is_empty());
    for text in policies {
        let policy: Value = serde_json::from_str(text).unwrap();
        let default: Fallback = serde_json::from_value(policy["default"].clone()).unwrap();
        let rules: Vec<RuleSource> = policy["rules"].as_array().unwrap().iter().map(source).collect();
        Rulebook::compile(default, &rules).unwrap();
    }
}

#[test]
fn every_condition_of_the_page_does_what_is_said() {
    let tables = blocks("text");
    let lines: Vec<&str> = tables.iter().flat_map(|table| table.lines().skip(1)).collect();
    assert!(lines.len() >= 10);
    for line in lines {
        let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect();
        let [when, arguments, result] = columns[..] else { panic!("{line}") };
        let book = book(Fallback::Allow, &[rule("r", &["*"], Some(when), Then::Ask)]);
        let facts = Facts { host: "cursor", arguments: arguments.as_bytes() };
        let judgement = book.judge(&book.standing(&tool("x__y")), &facts);
        let found = match judgement.why() {
            Why::Rule => "holds",
            Why::Default => "does not hold",
            _ => "can't be judged",
        };
        assert_eq!(found, result, "{line}");
    }
}

//! Looks at a result for what a person should know of: talk to the model, hidden text, a structure that says something
//! else than the text beside it. Only tells; a result is never held back or trusted for it.

use super::{clean, inner};
use crate::canonical::{self, Numbers};
use crate::finding::{Finding, FindingKind};
use crate::scan;
use crate::tree::{Kind, Tree, Value};

/// Everything in the result of a `tools/call` that should be known. Reads the whole of it, a few milliseconds for
/// 100 KB: not for the relay thread.
pub fn look(result: &[u8]) -> Vec<Finding> {
    let tree = match Tree::lenient(result) {
        Ok(tree) => tree,
        Err(fault) => return vec![Finding { place: String::new(), kind: FindingKind::Unreadable(fault) }],
    };
    let mut findings = scan::scan_answer(tree.root(), &clean::files(&tree));
    if differs(tree.root()) {
        findings.push(Finding { place: "/structuredContent".to_owned(), kind: FindingKind::Differs });
    }
    findings
}

/// Whether the structure is none of the JSON texts beside it, where there are such texts. One writer wraps what is no
/// object as `{"result": …}`.
fn differs(result: Value<'_>) -> bool {
    let Some(structure) = result.get("structuredContent").filter(|value| value.kind() != Kind::Null) else {
        return false;
    };
    let blocks = result.get("content").into_iter().flat_map(Value::elements);
    let texts = blocks.filter_map(|block| block.get("text")?.string());
    let mut same = [Some(structure), structure.get("result").filter(|_| structure.count() == 1)]
        .into_iter()
        .flatten()
        .map(|value| canonical(value));
    let (whole, wrapped) = (same.next(), same.next());
    let mut any = false;
    for text in texts {
        let Some(inner) = inner(&text) else { continue };
        let Ok(tree) = Tree::lenient(inner.json.as_bytes()) else { continue };
        let said = Some(canonical(tree.root()));
        if said == whole || said == wrapped {
            return false;
        }
        any = true;
    }
    any
}

fn canonical(value: Value<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    canonical::write(value, Numbers::Exact, &mut text);
    text
}

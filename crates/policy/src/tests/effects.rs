use crate::{Effect, Hints};

fn check(tool: &str, read_only: Option<bool>, destructive: Option<bool>, expect: Effect) {
    assert_eq!(Effect::of(tool, Hints { read_only, destructive }), expect, "{tool}");
}

#[test]
fn effect_follows_hints_and_only_without_them_the_name() {
    check("delete_file", Some(true), None, Effect::Read);
    check("read_file", Some(true), Some(true), Effect::Destructive);
    check("read_file", None, None, Effect::Read);
    check("readFile", None, None, Effect::Read);
    check("read_file", Some(false), None, Effect::Write);
    check("place_order", None, None, Effect::Write);
    check("bulkDelete", None, None, Effect::Destructive);
    check("get-then-run.shell", None, None, Effect::Destructive);
    check("", None, None, Effect::Write);
    check("write_file", None, Some(false), Effect::Write);
}

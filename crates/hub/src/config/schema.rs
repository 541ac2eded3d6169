//! The JSON Schema of the config, made from the types in `keys`. The checker walks it, editors read it.

use super::keys::Root;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The schema that is published beside the config file, as pretty JSON with a line end.
pub fn published() -> String {
    format!("{:#}\n", *SCHEMA)
}

/// The schema as a tree.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Root>();
    RecursiveTransform(tidy).transform(&mut schema);
    schema.to_value()
});

/// Leaves out what Rust's types bring along: `null` for what may be left out, number formats, defaults that say nothing.
fn tidy(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            schema.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice != &json!({"type": "null"}));
        if let [Value::Object(choice)] = choices.as_slice() {
            let choice = choice.clone();
            schema.remove("anyOf");
            for (key, value) in choice {
                schema.entry(key).or_insert(value);
            }
        }
    }
    schema.remove("format");
    if schema.get("default").is_some_and(|default| default.is_null() || default.is_object() || default.is_array()) {
        schema.remove("default");
    }
}

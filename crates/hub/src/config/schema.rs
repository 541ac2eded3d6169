//! The JSON Schema of the config. It is made from the types in `keys` and checked in, so that nothing has to be made at
//! each start; the checker walks it, editors read it.

#[cfg(test)]
use super::keys::Root;
#[cfg(test)]
use schemars::Schema;
use serde_json::Value;
use std::sync::LazyLock;

/// The schema that is published beside the config file, as pretty JSON with a line end.
pub const fn published() -> &'static str {
    include_str!("../../../../docs/callgate.schema.json")
}

/// The schema as a tree; a test sees to it that it can be read, and is the one of the types.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(published()).unwrap_or_default());

/// The schema of the types, as it is to be published.
#[cfg(test)]
pub(super) fn of_types() -> String {
    use schemars::generate::SchemaSettings;
    use schemars::transform::{RecursiveTransform, Transform};
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Root>();
    RecursiveTransform(tidy).transform(&mut schema);
    format!("{:#}\n", schema.to_value())
}

/// Leaves out what Rust's types bring along: `null` for what may be left out, number formats, defaults that say nothing.
#[cfg(test)]
fn tidy(schema: &mut Schema) {
    use serde_json::json;
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

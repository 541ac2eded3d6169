//! The headers that 2026-07-28 puts beside a request (`Mcp-Name`, `Mcp-Param-*`), made from the very params that are
//! sent, so that whoever routes by them and whoever reads the body see the same call.

use bytes::Bytes;
use frame::object;
use rustc_hash::FxHashMap;
use wire::http::headers;

/// Key of a property's schema that names the header which repeats its value.
const ANNOTATION: &str = "x-mcp-header";
/// Deepest property that a header may repeat.
const MAX_DEPTH: usize = 16;
/// Whole numbers from here on may lose digits in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What `Mcp-Name` carries for a method.
pub(crate) fn name_of(method: &str, params: &Bytes) -> Option<String> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    let [name] = object::pick(params, [key]);
    object::text(&params[name?]).map(String::from)
}

/// The input schemas of those tools that want arguments repeated, by the server's own names.
#[derive(Debug, Default)]
pub(crate) struct Mirrored(FxHashMap<String, Bytes>);

impl Mirrored {
    /// From the definitions that a server lists.
    pub(crate) fn of(tools: &[Bytes]) -> Mirrored {
        let wants = |tool: &&Bytes| memchr::memmem::find(tool, ANNOTATION.as_bytes()).is_some();
        let schema = |tool: &Bytes| {
            let [name, schema] = object::pick(tool, ["name", "inputSchema"]);
            Some((object::text(&tool[name?])?.into_owned(), tool.slice(schema?)))
        };
        Mirrored(tools.iter().filter(wants).filter_map(schema).collect())
    }

    /// The `Mcp-Param-*` of one call, values encoded.
    pub(crate) fn fields(&self, params: &Bytes) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        if self.0.is_empty() {
            return fields;
        }
        let [name, arguments] = object::pick(params, ["name", "arguments"]);
        let schema = name.and_then(|name| object::text(&params[name])).and_then(|name| self.0.get(&*name));
        if let (Some(schema), Some(arguments)) = (schema, arguments) {
            properties(schema, &params.slice(arguments), 0, &mut fields);
        }
        fields
    }
}

fn properties(schema: &Bytes, values: &Bytes, depth: usize, fields: &mut Vec<(String, String)>) {
    let Some(listed) = object::get(schema, "properties").filter(|_| depth < MAX_DEPTH) else { return };
    for member in object::members(&listed) {
        let Some(name) = object::text(&listed[member.key]) else { continue };
        let property = listed.slice(member.value);
        let Some(value) = object::get(values, &name).filter(|_| property.first() == Some(&b'{')) else { continue };
        if let Some(annotation) = object::get(&property, ANNOTATION)
            && let Some(header) = object::text(&annotation).filter(|header| !header.is_empty())
            && let Some(text) = field_text(&value)
        {
            fields.push((format!("{}{header}", headers::PARAM_PREFIX), text));
        }
        properties(&property, &value, depth + 1, fields);
    }
}

/// A string, a number or a truth value as a field's value; nothing for null, objects and arrays.
fn field_text(value: &[u8]) -> Option<String> {
    match value.first()? {
        b'{' | b'[' | b'n' => None,
        b'"' => object::text(value).map(|text| headers::encode(&text).into_owned()),
        _ => {
            let text = std::str::from_utf8(value).ok()?;
            let whole = text.parse::<f64>().ok().filter(|number| number.fract() == 0.0 && number.abs() < EXACT);
            // `5.0` and `5e0` are the number 5 to every reader of JSON; a field is compared as text by some.
            Some(whole.map_or_else(|| text.to_owned(), |number| format!("{number:.0}")))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names() {
        let check = |method: &str, params: &'static str, expect: Option<&str>| {
            assert_eq!(name_of(method, &Bytes::from_static(params.as_bytes())).as_deref(), expect, "{method} {params}");
        };
        check("tools/call", r#"{"name":"a\u0062"}"#, Some("ab"));
        check("prompts/get", r#"{"uri":"x"}"#, None);
        check("resources/read", r#"{"uri":"x:y"}"#, Some("x:y"));
        check("tasks/get", r#"{"taskId":"7"}"#, Some("7"));
        check("tools/list", r#"{"name":"a"}"#, None);
    }

    #[test]
    fn arguments_are_repeated_where_the_schema_says_so() {
        let tool = r#"{"name":"t","inputSchema":{"properties":{
            "region":{"type":"string","x-mcp-header":"Region"},"count":{"x-mcp-header":"Count"},
            "deep":{"type":"object","properties":{"key":{"x-mcp-header":"Key"}}},
            "odd":{"x-mcp-header":7},"plain":true}}}"#;
        let mirrored = Mirrored::of(&[Bytes::from(tool), Bytes::from_static(br#"{"name":"u","inputSchema":{}}"#)]);
        let check = |arguments: &str, expect: &[(&str, &str)]| {
            let fields = mirrored.fields(&format!(r#"{{"name":"t","arguments":{arguments}}}"#).into());
            let fields: Vec<_> = fields.iter().map(|(name, value)| (&name[PREFIX..], value.as_str())).collect();
            assert_eq!(fields, expect, "{arguments}");
        };
        const PREFIX: usize = headers::PARAM_PREFIX.len();
        check("{}", &[]);
        check(r#"{"region":"eu","plain":1,"odd":2}"#, &[("Region", "eu")]);
        check(r#"{"region":" Größe"}"#, &[("Region", "=?base64?IEdyw7bDn2U=?=")]);
        check(r#"{"region":null,"count":5.0}"#, &[("Count", "5")]);
        check(r#"{"count":9007199254740993}"#, &[("Count", "9007199254740993")]);
        check(r#"{"count":-1.5,"deep":{"key":true}}"#, &[("Count", "-1.5"), ("Key", "true")]);
        check(r#"{"region":{"a":1},"deep":[1]}"#, &[]);
        assert!(mirrored.fields(&Bytes::from_static(br#"{"name":"u","arguments":{"region":"eu"}}"#)).is_empty());
    }
}

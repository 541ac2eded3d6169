//! The words as one TypeScript file, for the app and the local page. Made from the table, never by hand.

use crate::operations::{self, Mark, Name, Shape, WordVisitor};
use crate::problem::Problem;
use crate::words::Event;
use std::collections::BTreeMap;
use std::fmt::Write;
use ts_rs::{Config, TS, TypeVisitor};

/// The whole file: every type, the map from name to words, and the marks.
pub fn file(config: &Config) -> String {
    let mut words = Words { config, types: BTreeMap::new(), map: String::new(), marks: String::new() };
    operations::each_word(&mut words);
    words.visit::<Problem>();
    words.visit::<Event>();
    words.visit::<Mark>();
    let mut out = String::from("// Generated from the crate `operator`; do not edit.\n\n");
    for text in words.types.values() {
        let _ = writeln!(out, "{text}\n");
    }
    let _ =
        writeln!(out, "/** Each operation by its name: what it takes, what it gives, one document or lines of it. */");
    let _ = writeln!(out, "export type Operations = {{\n{}}};\n", words.map);
    let _ = writeln!(out, "/** What each operation may do. */");
    let _ = writeln!(out, "export const marks: {{ [name in keyof Operations]: Mark }} = {{\n{}}};", words.marks);
    out
}

struct Words<'a> {
    config: &'a Config,
    types: BTreeMap<String, String>,
    map: String,
    marks: String,
}

impl WordVisitor for Words<'_> {
    fn operation<I: TS + 'static, O: TS + 'static>(&mut self, name: Name) {
        self.visit::<I>();
        self.visit::<O>();
        let (input, output) = (I::name(self.config), O::name(self.config));
        let shape = match name.shape() {
            Shape::Document => "document",
            Shape::Lines => "lines",
        };
        let path = name.as_str();
        let _ = writeln!(self.map, "  \"{path}\": {{ input: {input}; output: {output}; shape: \"{shape}\" }};");
        let mark = match name.mark() {
            Mark::Read => "read",
            Mark::Act => "act",
            Mark::Person => "person",
        };
        let _ = writeln!(self.marks, "  \"{path}\": \"{mark}\",");
    }
}

impl TypeVisitor for Words<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if T::output_path().is_none() || self.types.contains_key(&T::ident(self.config)) {
            T::visit_generics(self);
            return;
        }
        let docs = T::docs().unwrap_or_default();
        self.types.insert(T::ident(self.config), format!("{docs}export {}", T::decl(self.config)));
        T::visit_dependencies(self);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn every_word_is_declared_and_numbers_are_numbers() {
        let config = Config::from_env();
        let text = file(&config);
        for &name in Name::ALL {
            assert!(text.contains(&format!("  \"{}\": {{ input: ", name.as_str())), "{}", name.as_str());
        }
        for word in
            ["Status", "Attached", "ServerDetail", "Raw", "Tail", "ServerState", "ConfigProblem", "Event", "Problem"]
        {
            assert!(text.contains(&format!("export type {word} = ")), "{word}");
        }
        assert!(!text.contains("bigint"));
        std::fs::create_dir_all(config.out_dir()).unwrap();
        std::fs::write(config.out_dir().join("operator.ts"), text).unwrap();
    }
}

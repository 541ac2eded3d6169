//! What clients see: per view the entries, an index over them, and lists as ready bytes. Immutable; a change makes
//! a new one. `tools/list` never asks a server.

pub mod facts;
pub(crate) mod masked;
mod pages;
pub mod read;
pub(crate) mod remembered;
#[cfg(test)]
mod shuffled_tests;
mod uri;

use pages::Laying;
pub use pages::{BadCursor, Pages};
pub(crate) use uri::origin;

use crate::agent::View;
use crate::backend::Backend;
use crate::gate::pins::Review;
use crate::record::Audit;
use bytes::{BufMut, Bytes};
use contract::outcome::Output;
use contract::schema::Compiled;
use frame::Era;
use globset::GlobSet;
use policy::{Hints, Judgement, Profile, Rulebook, Standing, Target};
use read::{ReadEntry, ReadTool};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use store::Subject;

/// A tool that can be called.
pub struct ToolEntry {
    /// Whose it is.
    pub backend: Rc<Backend>,
    /// What was read of it.
    pub read: ReadTool,
    /// Its lane, where its calls run one at a time; None for reads.
    pub lane: Option<Rc<str>>,
    /// Its name in the aggregate and its own, as views keep them.
    names: [Rc<str>; 2],
    compiled: OnceCell<Result<Arc<Compiled>, String>>,
    /// Whether part of its schema can't be checked, where that was looked at without a call.
    partly: Cell<bool>,
    /// The compiled output schema; None where there is none that can be used.
    output: OnceCell<Option<Arc<Compiled>>>,
    subject: OnceCell<Subject>,
    /// How it stands against what was approved: as it was read, or as it was used or approved since.
    review: RefCell<Review>,
    /// The input schema that was approved, where the present one is another.
    approved: OnceCell<Option<Result<Arc<Compiled>, String>>>,
    /// How the rules see it, with their age and with what was known of its schema.
    standing: RefCell<Option<(u64, bool, Arc<Standing>)>>,
    /// What was said of its last call, as rows of the audit say it.
    verdict: RefCell<Option<(Judgement, Subject)>>,
}

impl ToolEntry {
    /// An entry of `backend`.
    pub fn new(backend: Rc<Backend>, read: ReadTool) -> ToolEntry {
        let lane = read.effect.is_serial().then(|| backend.lane_of(&read.tool.name));
        let names = [read.exposed.as_str().into(), (*read.tool.name).into()];
        let review = RefCell::new(read.review.clone());
        ToolEntry {
            review,
            approved: OnceCell::new(),
            backend,
            read,
            lane,
            names,
            compiled: OnceCell::new(),
            partly: Cell::new(false),
            output: OnceCell::new(),
            subject: OnceCell::new(),
            standing: RefCell::default(),
            verdict: RefCell::default(),
        }
    }
    /// The compiled input schema, or why it cannot be used; compiled at the first call.
    pub fn compiled(&self) -> Result<Arc<Compiled>, String> {
        let compile = || Compiled::compile(&self.schema()).map(Arc::new).map_err(|fault| fault.to_string());
        self.compiled.get_or_init(compile).clone()
    }
    /// The input schema as it was read.
    pub(crate) fn schema(&self) -> Bytes {
        self.read.raw.slice(self.read.tool.input_schema.clone())
    }
    /// Takes over that part of its schema can't be checked, from somebody who has looked.
    pub(crate) fn found_partly_checked(&self) {
        self.partly.set(true);
    }
    /// The compiled output schema. One that cannot be used costs only this check.
    pub(crate) fn output_compiled(&self) -> Option<Arc<Compiled>> {
        let compile = || {
            let schema = &self.read.raw[self.read.tool.output_schema.clone()?];
            Compiled::compile(schema).ok().map(Arc::new)
        };
        self.output.get_or_init(compile).clone()
    }
    /// How it stands against what was approved.
    pub(crate) fn review(&self) -> Review {
        self.review.borrow().clone()
    }
    pub(crate) fn set_review(&self, review: Review) {
        *self.review.borrow_mut() = review;
    }
    /// The compiled input schema that was approved, where the present one is another: a call has to fit both.
    pub(crate) fn approved(&self) -> Option<Result<Arc<Compiled>, String>> {
        if !matches!(*self.review.borrow(), Review::Calm(_)) {
            return None;
        }
        let compile = || {
            let review = self.review.borrow();
            let text = review.shown()?;
            let schema = contract::Tool::read(text).map(|tool| tool.input_schema);
            Some(match schema {
                Ok(place) => Compiled::compile(&text[place]).map(Arc::new).map_err(|fault| fault.to_string()),
                Err(fault) => Err(fault.to_string()),
            })
        };
        self.approved.get_or_init(compile).clone()
    }
    /// Its own name.
    pub(crate) fn own_name(&self) -> &Rc<str> {
        &self.names[1]
    }
    /// How these rules see it; `age` tells them from earlier ones.
    pub(crate) fn standing(&self, rules: &Rulebook, age: u64) -> Arc<Standing> {
        let is_partly = self.is_partly_checked();
        let known = self.standing.borrow();
        if let Some((.., standing)) = known.as_ref().filter(|(of, partly, _)| *of == age && *partly == is_partly) {
            return Arc::clone(standing);
        }
        drop(known);
        let standing = Arc::new(rules.standing(&self.profile()));
        *self.standing.borrow_mut() = Some((age, is_partly, Arc::clone(&standing)));
        standing
    }
    /// Whether part of its schema cannot be checked, as far as is known: nothing is compiled only to be listed. Every
    /// call is judged after its schema was compiled.
    fn is_partly_checked(&self) -> bool {
        self.partly.get()
            || matches!(self.compiled.get(), Some(Ok(compiled)) if !compiled.skipped_patterns().is_empty())
    }
    /// What rules may know of it before any call.
    pub(crate) fn profile(&self) -> Profile<'_> {
        let read = &self.read;
        Profile {
            target: Target::Tool,
            name: &read.exposed,
            own: &read.tool.name,
            server: self.backend.key(),
            effect: read.effect,
            hints: Hints { read_only: read.tool.hints.read_only, destructive: read.tool.hints.destructive },
            tag: self.backend.rules().effects.get(&*read.tool.name).copied(),
            flagged: matches!(*self.review.borrow(), Review::Flagged(_)),
            partly_checked: self.is_partly_checked(),
            takes_url: read.tool.takes_url,
            arguments: &read.tool.parameters,
            annotations: read.tool.annotations.clone().map_or(&[], |range| &read.raw[range]),
        }
    }
    /// What its audit rows say of why it was let through.
    pub(crate) fn verdict(&self, audit: &Audit, judgement: &Judgement) -> Subject {
        if let Some((_, subject)) = self.verdict.borrow().as_ref().filter(|(said, _)| said == judgement) {
            return subject.clone();
        }
        let subject = audit.detail(judgement.rule().map(|rule| &**rule), &judgement.sentence());
        *self.verdict.borrow_mut() = Some((judgement.clone(), subject.clone()));
        subject
    }
    /// Whether hosts may neither see nor call it before a person has looked at it.
    pub(crate) fn is_withheld(&self) -> bool {
        self.review.borrow().is_withheld()
    }
    /// What refusals of it may carry.
    pub(crate) fn output(&self) -> Output {
        if self.read.tool.output_schema.is_none() { Output::Free } else { Output::Declared }
    }
    /// Its name in the audit.
    pub(crate) fn subject(&self, audit: &Audit) -> Subject {
        self.subject.get_or_init(|| audit.tool_subject(&self.read)).clone()
    }
}

/// A prompt, resource or template and whose it is.
pub struct Entry {
    /// Whose it is.
    pub backend: Rc<Backend>,
    /// What was read of it.
    pub read: ReadEntry,
}

/// All entries of one server, in its order.
#[derive(Default)]
pub struct Shelf {
    /// Tools.
    pub tools: Vec<Rc<ToolEntry>>,
    /// Prompts.
    pub prompts: Vec<Rc<Entry>>,
    /// Resources.
    pub resources: Vec<Rc<Entry>>,
    /// Templates.
    pub templates: Vec<Rc<Entry>>,
}

impl Shelf {
    /// Whether something in it speaks to the model.
    pub(crate) fn is_flagged(&self) -> bool {
        let others = [&self.prompts, &self.resources, &self.templates].into_iter().flatten();
        self.tools.iter().any(|tool| tool.review().is_flagged())
            || others.into_iter().any(|it| it.read.review.is_flagged())
    }
}

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

impl ListKind {
    /// All of them.
    pub const ALL: [ListKind; 4] = [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates];
    /// The list that a method reads.
    pub fn of(method: &str) -> Option<ListKind> {
        Some(match method {
            "tools/list" => ListKind::Tools,
            "prompts/list" => ListKind::Prompts,
            "resources/list" => ListKind::Resources,
            "resources/templates/list" => ListKind::Templates,
            _ => return None,
        })
    }
}

/// What the rules hide from everybody.
pub trait Hides {
    /// Whether no call of this tool is ever allowed: it is not listed, and unknown to whoever names it.
    fn hides(&self, tool: &ToolEntry) -> bool;
}

/// One view of everything.
pub struct Catalog {
    own_names: bool,
    tools: FxHashMap<Rc<str>, Rc<ToolEntry>>,
    /// By the server's own name, where only one server has it.
    unprefixed: FxHashMap<Rc<str>, Option<Rc<ToolEntry>>>,
    prompts: FxHashMap<Rc<str>, Rc<Entry>>,
    resources: FxHashMap<Rc<str>, Rc<Entry>>,
    templates: Vec<Rc<Entry>>,
    pages: [Pages; 4],
    /// Entries that another server's entry hides.
    pub collisions: Vec<String>,
}

impl Catalog {
    /// Builds a view over shelves in config order. `only`: the tools and prompts a profile selects.
    pub fn build(view: &View, shelves: &[Rc<Shelf>], only: Option<&GlobSet>, rules: &dyn Hides) -> Catalog {
        let own_names = matches!(view, View::Server(_));
        let mut catalog = Catalog {
            own_names,
            tools: FxHashMap::default(),
            unprefixed: FxHashMap::default(),
            prompts: FxHashMap::default(),
            resources: FxHashMap::default(),
            templates: Vec::new(),
            pages: Default::default(),
            collisions: Vec::new(),
        };
        let count = shelves.iter().map(|shelf| shelf.tools.len()).sum();
        catalog.tools.reserve(count);
        if !own_names {
            catalog.unprefixed.reserve(count);
        }
        let mut lists = ["tools", "prompts", "resources", "resourceTemplates"].map(Laying::of);
        let [tools, prompts, resources, templates] = &mut lists;
        let shown = |name: &str| only.is_none_or(|globs| globs.is_match(name));
        for shelf in shelves {
            for tool in shelf.tools.iter().filter(|tool| shown(&tool.read.exposed) && !rules.hides(tool)) {
                catalog.add_tool(tool, tools);
            }
            let clean = |entry: &&Rc<Entry>| !entry.read.review.is_withheld();
            for prompt in shelf.prompts.iter().filter(clean).filter(|prompt| shown(&prompt.read.exposed)) {
                let name = if own_names { &prompt.read.own } else { &prompt.read.exposed };
                prompts.put(|out| out.put_slice(catalog.text(&prompt.read)));
                catalog.prompts.insert(name.as_str().into(), Rc::clone(prompt));
            }
            for resource in shelf.resources.iter().filter(clean) {
                let uri: Rc<str> = resource.read.own.as_str().into();
                if let Some(first) = catalog.resources.get(&uri) {
                    let (first, second) = (first.backend.key(), resource.backend.key());
                    catalog.collisions.push(format!("resource `{uri}` of `{second}` is hidden by that of `{first}`"));
                    continue;
                }
                resources.put(|out| out.put_slice(catalog.text(&resource.read)));
                catalog.resources.insert(uri, Rc::clone(resource));
            }
            for template in shelf.templates.iter().filter(clean) {
                templates.put(|out| out.put_slice(catalog.text(&template.read)));
                catalog.templates.push(Rc::clone(template));
            }
        }
        catalog.pages = lists.map(Laying::end);
        catalog
    }

    fn add_tool(&mut self, tool: &Rc<ToolEntry>, list: &mut Laying) {
        let [exposed, own] = tool.names.clone();
        // What is withheld is called by nobody who has not seen it before, and is told then why it is.
        if !tool.is_withheld() {
            let name = (!self.own_names).then_some(&*tool.read.exposed);
            list.put(|out| tool.read.put(name, out));
        }
        if self.own_names {
            self.tools.insert(own, Rc::clone(tool));
            return;
        }
        self.tools.insert(exposed, Rc::clone(tool));
        self.unprefixed.entry(own).and_modify(|one| *one = None).or_insert_with(|| Some(Rc::clone(tool)));
    }

    fn text<'e>(&self, read: &'e ReadEntry) -> &'e [u8] {
        if self.own_names { &read.in_own } else { &read.in_all }
    }

    /// The tool of that name; also by the server's own name where exactly one server has it.
    pub fn tool(&self, name: &str) -> Option<&Rc<ToolEntry>> {
        self.tools.get(name).or_else(|| self.unprefixed.get(name)?.as_ref())
    }
    /// All tools, in no order.
    pub fn tools(&self) -> impl Iterator<Item = &Rc<ToolEntry>> {
        self.tools.values()
    }
    /// The prompt of that name.
    pub fn prompt(&self, name: &str) -> Option<&Rc<Entry>> {
        self.prompts.get(name)
    }
    /// The entry of a URI: it is listed, or fits a template.
    pub fn resource(&self, uri: &str) -> Option<&Rc<Entry>> {
        self.resources.get(uri).or_else(|| self.templates.iter().find(|entry| uri::matches(&entry.read.own, uri)))
    }
    /// A resource by its URI, or a template by its own text.
    pub fn entry(&self, label: &str) -> Option<&Rc<Entry>> {
        self.resources.get(label).or_else(|| self.templates.iter().find(|entry| entry.read.own == label))
    }
    /// The server that has a URI: listed, by template, or the only one with anything of that scheme and authority.
    pub fn owner_of(&self, uri: &str) -> Option<&Rc<Backend>> {
        if let Some(entry) = self.resource(uri) {
            return Some(&entry.backend);
        }
        let origin = uri::origin(uri);
        let all = self.resources.values().chain(&self.templates);
        let mut alike = all.filter(|entry| uri::origin(&entry.read.own) == origin).map(|entry| &entry.backend);
        let first = alike.next()?;
        alike.all(|other| Rc::ptr_eq(other, first)).then_some(first)
    }
    /// The server that a template or URI of a completion request belongs to.
    pub fn owner_of_reference(&self, uri: &str) -> Option<&Rc<Backend>> {
        let template = self.templates.iter().find(|entry| entry.read.own == uri);
        template.map(|entry| &entry.backend).or_else(|| self.owner_of(uri))
    }
    /// One list as ready bytes.
    pub fn pages(&self, kind: ListKind) -> &Pages {
        &self.pages[kind as usize]
    }
    /// A page of one list in the form of `era`.
    pub fn page(&self, kind: ListKind, cursor: Option<&str>, era: Era) -> Result<frame::Rope, BadCursor> {
        self.pages(kind).get(cursor, era)
    }
}

//! Names and hashes do not depend on who else is there, who is up first, and in which order the config names them.

#![allow(clippy::unwrap_used)]

use super::{Catalog, ListKind, Shelf};
use crate::agent::View;
use crate::backend::{Backend, Rules};
use crate::gate::Gate;
use bytes::Bytes;
use frame::{Era, Version, object};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use upstream::Listing;

/// Keys and own names that meet, nearly meet, or cannot stand as they are.
fn servers() -> Vec<(String, Vec<String>)> {
    let long = "n".repeat(80);
    let all: [(&str, &[&str]); 14] = [
        ("a", &["b_c", "b__c", "c", "C"]),
        ("a_b", &["c", "_c", "d"]),
        ("a__b", &["c"]),
        ("a b", &["c"]),
        ("a.b", &["c", "c.d", "c_d"]),
        ("_a", &["b_c"]),
        ("GitHub", &["search", "Search"]),
        ("github", &["search"]),
        ("git\u{570}ub", &["search"]),
        ("callgate", &["status", "tools/list", "callgate__status"]),
        ("one", &[]),
        ("One", &[]),
        (&long, &["c"]),
        ("empty", &[]),
    ];
    let more = |key: &str| match key {
        "one" | "One" => vec![format!("{long}1"), format!("{long}2"), long.clone()],
        _ => Vec::new(),
    };
    all.iter()
        .map(|(key, tools)| ((*key).to_owned(), tools.iter().map(|name| (*name).to_owned()).chain(more(key)).collect()))
        .collect()
}

fn listing(tools: &[String]) -> Rc<Listing> {
    let object =
        |name: &String| Bytes::from(format!("{{\"name\":\"{name}\",\"inputSchema\":{{\"type\":\"object\"}}}}"));
    Rc::new(Listing {
        version: Version::LEGACY,
        capabilities: "{}".into(),
        server_info: "{}".into(),
        instructions: None,
        tools: tools.iter().map(object).collect(),
        prompts: tools.iter().map(|name| format!("{{\"name\":\"{name}\"}}").into()).collect(),
        resources: Vec::new(),
        templates: Vec::new(),
        problems: Vec::new(),
    })
}

fn built(config: &[Rc<Backend>]) -> Catalog {
    let shelves: Vec<Rc<Shelf>> = config.iter().map(|backend| backend.shelf()).collect();
    Catalog::build(&View::All, &shelves, None, &Gate::default())
}

/// The whole lists, as a client gets them.
fn lists(catalog: &Catalog) -> [Bytes; 2] {
    [ListKind::Tools, ListKind::Prompts].map(|kind| catalog.page(kind, None, Era::Modern).unwrap().join())
}

/// Each entry by its name, and whose tool answers to that name.
fn entries(catalog: &Catalog) -> BTreeMap<String, (Bytes, String)> {
    let [tools, _] = lists(catalog);
    let all = object::get(&tools, "tools").unwrap();
    let named = object::elements(&all).map(|range| {
        let entry = all.slice(range);
        let name = object::text(&object::get(&entry, "name").unwrap()).unwrap().into_owned();
        let tool = catalog.tool(&name).unwrap();
        let whose = format!("{} {}", tool.backend.key(), tool.read.tool.name);
        (name, (entry, whose))
    });
    named.collect()
}

fn whole(servers: &[(String, Vec<String>)], config: &[usize], up: &[usize]) -> Catalog {
    let backends: Vec<Rc<Backend>> =
        servers.iter().map(|(key, _)| Backend::new(key, Rules::default(), None, Weak::new())).collect();
    let config: Vec<Rc<Backend>> = config.iter().map(|&place| Rc::clone(&backends[place])).collect();
    let mut before = BTreeMap::new();
    for &place in up {
        backends[place].shelve(listing(&servers[place].1));
        let now = entries(&built(&config));
        assert!(before.iter().all(|(name, entry)| now.get(name) == Some(entry)), "somebody's arrival changed others");
        before = now;
    }
    let catalog = built(&config);
    backends.iter().for_each(|backend| backend.clear());
    catalog
}

#[test]
fn every_name_is_unique_and_legal() {
    let servers = servers();
    let order: Vec<usize> = (0..servers.len()).collect();
    let catalog = whole(&servers, &order, &order);
    let entries = entries(&catalog);
    let legal = |name: &String| {
        name.len() <= 64 && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))
    };
    assert!(entries.keys().all(legal), "{:?}", entries.keys());
    let whose: BTreeSet<&String> = entries.values().map(|(_, whose)| whose).collect();
    // All but `tools/list`, which no client could call.
    assert_eq!((entries.len(), whose.len()), (26, 26), "{whose:?}");
    assert_eq!(catalog.pages(ListKind::Tools).count(), 26);
}

/// What was found out about a tool, its compiled schema above all, outlives a restart of its server.
#[test]
fn a_list_that_comes_again_leaves_the_shelf_as_it_is() {
    let backend = Backend::new("a", Rules::default(), None, Weak::new());
    let shown = || backend.shelf().tools.iter().map(|tool| tool.own_name().to_string()).collect::<Vec<_>>();
    let one = ["one".to_owned()];
    backend.shelve(listing(&one));
    let first = backend.shelf();
    backend.shelve(listing(&one));
    assert!(Rc::ptr_eq(&first, &backend.shelf()), "nothing was read anew");
    backend.review_again();
    assert!(!Rc::ptr_eq(&first, &backend.shelf()), "what is held fast has changed");
    backend.shelve(listing(&["two".to_owned()]));
    assert_eq!(shown(), ["two"]);
    backend.shelve(listing(&one));
    assert_eq!(shown(), ["one"]);
    backend.clear();
    backend.shelve(listing(&one));
    assert_eq!(shown(), ["one"]);
    backend.clear();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn lists_are_the_same_in_every_order_of_start_and_entries_in_every_order_of_the_config(
        config in Just((0..14).collect::<Vec<usize>>()).prop_shuffle(),
        up in Just((0..14).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let servers = servers();
        let order: Vec<usize> = (0..servers.len()).collect();
        let first = whole(&servers, &order, &order);
        prop_assert_eq!(lists(&whole(&servers, &order, &up)), lists(&first));
        prop_assert_eq!(entries(&whole(&servers, &config, &up)), entries(&first));
        // A list goes by the order of the config, and by nothing else.
        prop_assert_eq!(lists(&whole(&servers, &config, &up)), lists(&whole(&servers, &config, &order)));
    }
}

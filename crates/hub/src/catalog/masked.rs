//! What a server lists without the secrets that it was given. They are taken out before anything is read, hashed, kept,
//! compared or shown, so that nothing after that has to think of them; everything else keeps its bytes.

use bytes::Bytes;
use contract::answer::{Cleaner, REMOVED};
use std::borrow::Cow;
use upstream::Listing;

/// Bytes of what has to be read to find its secrets.
pub(crate) fn to_read(listing: &Listing, cleaner: &Cleaner) -> usize {
    if cleaner.knows_none() {
        return 0;
    }
    let lists = [&listing.tools, &listing.prompts, &listing.resources, &listing.templates];
    let entries = lists.into_iter().flatten().map(|entry| &entry[..]);
    let others = [&listing.server_info[..], &listing.capabilities[..]];
    let instructions = listing.instructions.as_deref().map(str::as_bytes);
    let all = entries.chain(others).chain(instructions);
    all.filter(|text| cleaner.is_suspect(text)).map(<[u8]>::len).sum()
}

/// The listing without them; None where there are none in it.
pub(crate) fn without_secrets(listing: &Listing, cleaner: &Cleaner) -> Option<Listing> {
    if to_read(listing, cleaner) == 0 && listing.problems.is_empty() {
        return None;
    }
    let entries = |list: &[Bytes]| list.iter().map(|entry| json(entry, cleaner)).collect();
    let masked = Listing {
        version: listing.version,
        capabilities: json(&listing.capabilities, cleaner),
        server_info: json(&listing.server_info, cleaner),
        instructions: listing.instructions.as_deref().map(|text| cleaner.redact(text).into_owned()),
        tools: entries(&listing.tools),
        prompts: entries(&listing.prompts),
        resources: entries(&listing.resources),
        templates: entries(&listing.templates),
        problems: listing.problems.iter().map(|problem| cleaner.redact(problem).into_owned()).collect(),
    };
    (masked != *listing).then_some(masked)
}

/// A JSON text without them.
pub(crate) fn json(text: &Bytes, cleaner: &Cleaner) -> Bytes {
    match cleaner.mask(text) {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(masked) => masked.into(),
    }
}

/// Whether a name that has to be sent back held one: what is shown of it names nothing.
pub(crate) fn is_broken(name: &str) -> bool {
    name.contains(REMOVED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::Version;

    const SECRET: &str = "s3cr3t/value";

    fn listing(tool: &'static str, instructions: &str, problem: &str) -> Listing {
        let one = |text: &'static str| vec![Bytes::from_static(text.as_bytes())];
        Listing {
            version: Version::LEGACY,
            capabilities: Bytes::from_static(b"{}"),
            server_info: Bytes::from_static(b"{ \"name\":\"x\" }"),
            instructions: Some(instructions.to_owned()),
            tools: one(tool),
            prompts: one(r#"{"name":"p","description":"s3cr3t\/value"}"#),
            resources: Vec::new(),
            templates: Vec::new(),
            problems: vec![problem.to_owned()],
        }
    }

    #[test]
    fn only_secrets_go_from_what_is_listed() {
        let cleaner = Cleaner::new([SECRET]);
        let open = listing(
            r#"{ "name":"t", "d":1.0, "s3cr3t/value":"[callgate] s3cr3t%2Fvalue" }"#,
            "of s3cr3t/value",
            SECRET,
        );
        let masked = without_secrets(&open, &cleaner).unwrap_or_else(|| open.clone());
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&masked.tools[0]), format!(r#"{{ "name":"t", "d":1.0, "{REMOVED}":"[callgate] {REMOVED}" }}"#));
        assert_eq!(text(&masked.prompts[0]), format!(r#"{{"name":"p","description":"{REMOVED}"}}"#));
        assert_eq!((masked.instructions.as_deref(), &*masked.problems[0]), (Some("of [secret removed]"), REMOVED));
        assert_eq!(masked.server_info, open.server_info);
        assert!(to_read(&open, &cleaner) > 0 && without_secrets(&masked, &cleaner).is_none());
        let none = Cleaner::new([]);
        assert_eq!((to_read(&open, &none), without_secrets(&open, &none)), (0, None));
    }
}

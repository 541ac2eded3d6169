//! Names on the wire.

use crate::{Answer, Era, Level, Version};

#[test]
fn versions_and_levels_have_one_name_each() {
    for version in Version::ALL {
        assert_eq!(Version::parse(version.as_str()), Some(version));
        assert_eq!(version.era() == Era::Modern, version > Version::LEGACY);
    }
    assert_eq!(Version::parse("2024-10-07"), None);
    for level in Level::ALL {
        assert_eq!(Level::parse(level.as_str()), Some(level));
    }
    assert!(Level::Debug < Level::Info && Level::Error < Level::Emergency);
    assert_eq!(Level::parse("warn"), None);
}

#[test]
fn own_errors_are_json() {
    let Answer::Error(body) = Answer::error(-32602, "no \"such\" tool") else { panic!("an error") };
    assert_eq!(body.join(), r#"{"code":-32602,"message":"no \"such\" tool"}"#);
}

//! Who may decide: every operation that is a person's passes the same gate.

use super::fake::Fake;
use bytes::Bytes;
use operator::words::{ApprovalFilter, Nothing, PinChange, PinCode, PinStatus, TokenName};
use operator::{ClientError, Mark, Name, op};

/// What a refused attempt is refused with.
pub const CODES: [&str; 4] = ["pin_required", "pin_wrong", "pin_locked", "not_a_person"];

fn code<T>(answer: Result<T, ClientError>) -> String {
    match answer {
        Ok(_) => "done".to_owned(),
        Err(ClientError::Refused(problem)) => problem.code,
        Err(other) => panic!("{other:?}"),
    }
}

fn persons() -> impl Iterator<Item = Name> {
    Name::ALL.iter().copied().filter(|name| name.mark() == Mark::Person)
}

/// A hub whose own process asks, as one of its servers would.
fn strict() -> Fake {
    Fake::with(|status| {
        status.from_host_tree = false;
        status.pid = std::process::id();
    })
}

fn pin(text: &str) -> Option<PinCode> {
    Some(PinCode::new(text))
}

async fn change(fake: &Fake, old: Option<&str>, new: Option<&str>) -> Result<PinStatus, ClientError> {
    let asked = PinChange { old: old.and_then(pin), new: new.and_then(pin) };
    fake.client.call::<op::ApprovalPin>(&asked).await
}

#[tokio::test]
async fn nothing_of_a_persons_is_done_for_the_hubs_own_processes() {
    let fake = strict();
    for name in persons() {
        // The PIN says nothing where none is set.
        let body = if name == Name::ApprovalPin { "{\"new\":\"4711\"}" } else { "{\"pin\":\"4711\"}" };
        assert_eq!(code(fake.client.send(name, Bytes::from(body)).await), "not_a_person", "{}", name.as_str());
    }
    fake.client.call::<op::Status>(&Nothing {}).await.unwrap();
    assert!(fake.client.call::<op::TokenList>(&Nothing {}).await.unwrap().tokens.is_empty());
    fake.end().await;
}

#[tokio::test]
async fn every_attempt_leaves_a_row_with_who_and_why_and_never_what_was_typed() {
    let fake = strict();
    for name in persons() {
        let body =
            if name == Name::ApprovalPin { "{\"new\":\"4711\"}" } else { "{\"pin\":\"4711\",\"name\":\"hush\"}" };
        assert_eq!(code(fake.client.send(name, Bytes::from(body)).await), "not_a_person");
    }
    fake.pin.change(None, Some("4711")).unwrap();
    assert_eq!(code(change(&fake, Some("0815"), None).await), "pin_wrong");
    let add = TokenName { name: "ci".into(), pin: pin("4711") };
    assert_eq!(code(fake.client.call::<op::TokenAdd>(&add).await), "done");
    assert_eq!(code(change(&fake, Some("4711"), None).await), "done");
    let deeds = fake.deeds.clone();
    fake.end().await;
    let all = deeds.all();
    let own = std::env::current_exe().unwrap();
    let count = persons().count();
    assert_eq!(all.len(), count + 3, "{all:?}");
    for (deed, name) in all.iter().zip(persons()) {
        assert_eq!((deed.operation, deed.pid, deed.program.as_ref()), (name, Some(std::process::id()), Some(&own)));
        assert!(deed.by.contains(&format!("pid {}", std::process::id())), "{deed:?}");
    }
    let text = format!("{all:?}");
    assert!(!text.contains("0815") && !text.contains("4711") && !text.contains("hush"), "{text}");
    let done: Vec<_> = all[count..count + 2].iter().map(|it| (it.operation, it.about.as_deref())).collect();
    assert_eq!(done, [(Name::TokenAdd, Some("ci")), (Name::ApprovalPin, Some("removed"))]);
    assert_eq!(all.last().unwrap().refused.as_ref().unwrap().0, "pin_wrong", "a second attempt in its minute");
}

#[tokio::test]
async fn a_pin_is_needed_by_everybody_and_opens_to_everybody() {
    let fake = Fake::start();
    assert_eq!(code(change(&fake, None, Some("123")).await), "bad_input");
    assert!(change(&fake, None, Some("4711")).await.unwrap().pin_set);
    for name in persons() {
        assert_eq!(code(fake.client.send(name, Bytes::new()).await), "pin_required", "{}", name.as_str());
    }
    let add = |name: &str, typed: &str| TokenName { name: name.into(), pin: pin(typed) };
    assert_eq!(code(fake.client.call::<op::TokenAdd>(&add("ci", "0815")).await), "pin_wrong");
    assert_eq!(code(fake.client.call::<op::TokenAdd>(&add("ci", "4711")).await), "done");
    assert_eq!(code(change(&fake, None, Some("0815")).await), "pin_required");
    assert_eq!(code(change(&fake, Some("4711"), Some("0815")).await), "done");
    for _ in 0..4 {
        assert_eq!(code(fake.client.call::<op::TokenRemove>(&add("ci", "4711")).await), "pin_wrong");
    }
    assert_eq!(fake.client.call::<op::Status>(&Nothing {}).await.unwrap().pin_locked_minutes, None);
    assert_eq!(code(fake.client.call::<op::TokenRemove>(&add("ci", "4711")).await), "pin_locked");
    assert_eq!(fake.client.call::<op::Status>(&Nothing {}).await.unwrap().pin_locked_minutes, Some(15));
    assert_eq!(code(fake.client.call::<op::TokenRemove>(&add("ci", "0815")).await), "pin_locked");
    assert_eq!(code(change(&fake, Some("0815"), None).await), "pin_locked");
    fake.end().await;
}

#[tokio::test]
async fn with_the_pin_a_hosts_process_may_decide_too() {
    let fake = strict();
    fake.pin.change(None, Some("4711")).unwrap();
    let asked = TokenName { name: "ci".into(), pin: pin("4711") };
    assert_eq!(code(fake.client.call::<op::TokenAdd>(&asked).await), "done");
    assert!(!change(&fake, Some("4711"), None).await.unwrap().pin_set);
    assert_eq!(code(fake.client.call::<op::TokenRemove>(&asked).await), "not_a_person");
    assert_eq!(code(fake.client.call::<op::ApprovalList>(&ApprovalFilter::default()).await), "hub_stopping");
    fake.end().await;
}

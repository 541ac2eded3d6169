//! What a server says while it works, its progress and its log: cleaned like its results and bounded. Of a flood of
//! progress the latest is passed on, of a flood of log lines the first.

use bytes::Bytes;
use contract::answer::Cleaner;
use frame::{Progress, object};
use std::time::Duration;
use tokio::time::Instant;

/// So many notices pass at once.
const BURST: u32 = 256;
/// And one more in each such time.
const PACE: Duration = Duration::from_millis(10);
/// Longer notices of progress lose their message, in bytes.
const LONG_PROGRESS: usize = 4 << 10;
/// Longer lines of a log are dropped, in bytes.
const LONG_LINE: usize = 64 << 10;

/// The notices of one call, or of one server outside of calls.
#[derive(Default)]
pub(crate) struct Murmur {
    /// Notices that were passed on and count still.
    passed: u32,
    /// Since when they count.
    since: Option<Instant>,
    /// The latest that was not passed on.
    latest: Option<Progress>,
}

impl Murmur {
    /// What may be passed on now.
    pub(crate) fn progress(&mut self, progress: &Progress, cleaner: &Cleaner) -> Option<Progress> {
        if self.is_flood() {
            self.latest = Some(progress.clone());
            return None;
        }
        self.latest = None;
        tidy(progress, cleaner)
    }
    /// The latest progress that was kept back: for right before the answer.
    pub(crate) fn last(&mut self, cleaner: &Cleaner) -> Option<Progress> {
        tidy(&self.latest.take()?, cleaner)
    }
    /// A line of a log, as far as it may be passed on.
    pub(crate) fn line(&mut self, params: &Bytes, cleaner: &Cleaner) -> Option<Bytes> {
        if params.len() > LONG_LINE || self.is_flood() {
            return None;
        }
        Some(cleaner.clean(params).ok()?.body.map_or_else(|| params.clone(), Bytes::from))
    }

    fn is_flood(&mut self) -> bool {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        let paces = u32::try_from(now.duration_since(since).as_millis() / PACE.as_millis()).unwrap_or(u32::MAX);
        self.passed = self.passed.saturating_sub(paces);
        self.since = Some(since + PACE.checked_mul(paces).unwrap_or_default());
        let is_flood = self.passed >= BURST;
        self.passed += u32::from(!is_flood);
        is_flood
    }
}

/// None: nobody could say what it is.
fn tidy(progress: &Progress, cleaner: &Cleaner) -> Option<Progress> {
    let mut params = progress.params.clone();
    if params.len() > LONG_PROGRESS {
        params = object::Edit::new().remove("message").apply(&params).join();
        if params.len() > LONG_PROGRESS {
            return None;
        }
    } else {
        match cleaner.clean(&params).ok()?.body {
            None => return Some(progress.clone()),
            Some(cleaned) => params = cleaned.into(),
        }
    }
    let [token] = object::pick(&params, ["progressToken"]);
    Some(Progress { token: token?, params })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn progress(message: &str) -> Progress {
        let params = format!("{{\"progressToken\":7,\"message\":{},\"progress\":1}}", object::quote(message));
        Progress { token: 17..18, params: params.into() }
    }

    fn said(progress: &Progress) -> String {
        assert_eq!(&progress.params[progress.token.clone()], b"7");
        String::from_utf8(progress.params.to_vec()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_flood_the_beginning_and_the_latest_pass_each_without_what_hides() {
        let cleaner = Cleaner::new(["s3cr3t-value"]);
        let mut murmur = Murmur::default();
        let all: Vec<Progress> = (0..10_000)
            .filter_map(|n| murmur.progress(&progress(&format!("\u{1b}[31m{n} s3cr3t-value\u{1b}[0m")), &cleaner))
            .collect();
        assert_eq!(all.len(), BURST as usize);
        for one in &all {
            assert!(!said(one).contains("u001b") && !said(one).contains("s3cr3t-value"), "{}", said(one));
        }
        let last = murmur.last(&cleaner).unwrap();
        assert!(said(&last).contains("9999"), "{}", said(&last));
        assert!(murmur.last(&cleaner).is_none());
        tokio::time::advance(PACE * 3).await;
        let after = (0..10).filter(|_| murmur.progress(&progress("x"), &cleaner).is_some()).count();
        assert_eq!(after, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_long_loses_its_message_and_what_is_clean_keeps_its_bytes() {
        let cleaner = Cleaner::new([]);
        let mut murmur = Murmur::default();
        let clean = progress("half");
        assert_eq!(murmur.progress(&clean, &cleaner).unwrap().params, clean.params);
        let long = murmur.progress(&progress(&"x".repeat(5_000)), &cleaner).unwrap();
        let fields: serde_json::Value = serde_json::from_str(&said(&long)).unwrap();
        assert_eq!(fields, serde_json::json!({ "progressToken": 7, "progress": 1 }));
        let line = Bytes::from_static(b"{\"level\":\"info\",\"data\":\"\\u001b[1mx\"}");
        assert_eq!(murmur.line(&line, &cleaner).unwrap(), &br#"{"level":"info","data":"x"}"#[..]);
        assert!(murmur.line(&Bytes::from(vec![b' '; LONG_LINE + 1]), &cleaner).is_none());
        let lines = (0..1_000).filter(|_| murmur.line(&line, &cleaner).is_some()).count();
        assert_eq!(lines, BURST as usize - 3);
    }
}

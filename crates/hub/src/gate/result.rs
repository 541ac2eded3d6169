//! What a server answered, before anybody gets it: cleaned and, where it is the result of a tool, bounded and checked
//! against the schema that the tool promised. Everything else keeps its bytes (docs/servers-words.md).

use super::pages::Readable;
use super::retold;
use crate::backend::Rules;
use crate::catalog::ToolEntry;
use crate::config::ResultCheck;
use bytes::Bytes;
use contract::answer::{Changes, OutputCheck, check_output};
use contract::outcome::{Code, Refusal, Told, tell, tell_error};
use contract::{Compiled, Effort, Problem};
use frame::{Answer, Era};
use std::sync::Arc;

/// Results from this size on are cleaned on the blocking pool where there is something to clean, in bytes.
const LARGE: usize = 64 << 10;
/// Results from this size on are looked at there in any case.
const HUGE: usize = 4 << 20;

/// What became of a result.
pub(crate) enum Inspected {
    /// It may be passed on like this.
    Passed {
        answer: Answer,
        changes: Changes,
        /// What of it breaks the tool's output schema, where that only warns.
        broken: Vec<Problem>,
    },
    /// It must not be passed on.
    Refused(Refusal),
    /// It is over the bound: this much of it can be fetched piece by piece.
    TooLong {
        era: Era,
        result: Readable,
        /// All of it, as it is stored where it can be told again.
        whole: Bytes,
    },
}

/// Everything that a look at a result needs: plain values, for any thread.
pub(crate) struct Look {
    cleaner: Arc<contract::answer::Cleaner>,
    schema: Option<Arc<Compiled>>,
    check: ResultCheck,
    most: usize,
    edited: Option<Bytes>,
}

impl Look {
    /// For what a server with these rules answers, to a call of this tool if it is one.
    pub(crate) fn of(rules: &Rules, tool: Option<&ToolEntry>, edited: Option<Bytes>) -> Look {
        let cleaner = Arc::clone(&rules.cleaner);
        let Some(tool) = tool else {
            // Only the rest of a tool's result can be fetched piece by piece; the bound of a message holds for all.
            return Look { cleaner, schema: None, check: ResultCheck::Off, most: usize::MAX, edited };
        };
        let check = rules.results.check;
        let schema = if check == ResultCheck::Off { None } else { tool.output_compiled() };
        let most = usize::try_from(rules.results.max_bytes).unwrap_or(usize::MAX);
        Look { cleaner, schema, check, most, edited }
    }

    /// Looks on the blocking pool, however long it takes. None: even that was too much.
    pub(crate) async fn look_apart(self, answer: Answer) -> Option<Inspected> {
        // What is shared in a rope may not leave this thread.
        let text = match answer {
            Answer::Result { era, body } => (Some(era), body.join()),
            Answer::Error(error) => (None, error.join()),
        };
        let looking = tokio::task::spawn_blocking(move || {
            let answer = match text {
                (Some(era), body) => Answer::Result { era, body: body.into() },
                (None, error) => Answer::Error(error.into()),
            };
            self.look(answer, Effort::LONG)
        });
        looking.await.ok().flatten()
    }

    /// Whether this takes too long for the relay thread.
    pub(crate) fn is_long(&self, answer: &Answer) -> bool {
        let body = match answer {
            Answer::Result { body, .. } | Answer::Error(body) => body,
        };
        match body.len() {
            ..LARGE => false,
            HUGE.. => true,
            _ => self.schema.is_some() || body.len() > self.most || self.cleaner.is_suspect(&body.join()),
        }
    }

    /// Looks at an answer. `None`: with so little effort it cannot be told whether it fits the schema.
    pub(crate) fn look(&self, answer: Answer, effort: Effort) -> Option<Inspected> {
        let (era, body) = match answer {
            Answer::Result { era, body } => (era, body),
            Answer::Error(error) => return Some(self.error(&error.join())),
        };
        let text = body.join();
        let Ok(cleaned) = self.cleaner.clean(&text) else {
            let message =
                "The server's result can be read in two ways and is not passed on. It may have been executed.";
            return Some(Inspected::Refused(Refusal::new(Code::InvalidResult, message)));
        };
        let text = cleaned.body.map_or(text, Bytes::from);
        let broken = match &self.schema {
            None => Vec::new(),
            Some(schema) => match check_output(&text, schema, effort) {
                Ok(OutputCheck::Fits | OutputCheck::IsError | OutputCheck::Interim) => Vec::new(),
                Ok(OutputCheck::Breaks(problems)) => problems,
                Err(_) if effort != Effort::LONG => return None,
                Err(costly) => vec![Problem::whole(costly.to_string())],
            },
        };
        if !broken.is_empty() && self.check == ResultCheck::Strict {
            let message = "The server's result does not match the tool's own output schema and is not passed on. The call \
                           was executed.";
            return Some(Inspected::Refused(Refusal::new(Code::InvalidResult, message).with_details(broken)));
        }
        let changes = cleaned.changes;
        let edited = self.edited();
        let mut told = Vec::new();
        told.extend(edited.as_deref().map(Told::Edited));
        told.extend((!changes.is_none()).then_some(Told::Changed(&changes)));
        let text = if told.is_empty() { text } else { tell(&text, &told).map_or(text, Bytes::from) };
        if text.len() > self.most {
            return Some(match &self.schema {
                Some(_) => Inspected::Refused(too_large(text.len(), self.most)),
                None => {
                    let whole = retold::packed_whole(era, &text);
                    Inspected::TooLong { era, result: Readable::of(&text, self.most), whole }
                }
            });
        }
        Some(Inspected::Passed { answer: Answer::Result { era, body: text.into() }, changes, broken })
    }

    /// What ran in place of what was asked. A person may have typed what its client must not read.
    fn edited(&self) -> Option<String> {
        let masked = self.cleaner.mask(self.edited.as_ref()?);
        Some(String::from_utf8_lossy(&masked).into_owned())
    }

    fn error(&self, error: &Bytes) -> Inspected {
        match self.cleaner.clean(error) {
            Ok(cleaned) => {
                let text = cleaned.body.map_or_else(|| error.clone(), Bytes::from);
                let edited = self.edited();
                let told = edited.as_deref().and_then(|edited| tell_error(&text, &[Told::Edited(edited)]).ok());
                let answer = Answer::Error(told.map_or(text, Bytes::from).into());
                Inspected::Passed { answer, changes: cleaned.changes, broken: Vec::new() }
            }
            Err(_) => {
                let message = "The server's error can be read in two ways and is not passed on.";
                Inspected::Refused(Refusal::new(Code::InvalidResult, message))
            }
        }
    }
}

fn too_large(bytes: usize, most: usize) -> Refusal {
    let message = format!(
        "The result has {bytes} bytes, more than the {most} that are passed on, and a result with an output schema \
         cannot be cut. The call was executed."
    );
    Refusal::new(Code::ResultTooLarge, message)
}

//! Which words, met in one sentence, speak to a model instead of describing a tool. Each rule says what it means in
//! terms of classes; none knows a sentence.

use super::Talk;
use super::classes::*;
use super::index::Index;
use super::words::Sentence;
use std::sync::LazyLock;

/// A rule.
pub(super) struct Rule {
    pub(super) talk: Talk,
    shape: Shape,
    /// Words that spare the sentence anywhere.
    spared: Classes,
    /// Words that spare it up to three words before the first one.
    not_after: Classes,
    /// Words that spare it right after the last one.
    not_before: Classes,
}

enum Shape {
    /// One after the other, each at most so many words after the one before.
    Steps(&'static [(Classes, usize)]),
    /// All of them somewhere in the sentence, each by another word.
    Meet(&'static [Classes]),
    /// All of them somewhere in a sentence of a language with a free order, a word may be several.
    Free(&'static [Classes]),
}

pub(super) const fn steps(talk: Talk, steps: &'static [(Classes, usize)]) -> Rule {
    Rule { talk, shape: Shape::Steps(steps), spared: 0, not_after: NOT, not_before: 0 }
}

pub(super) const fn meet(talk: Talk, all: &'static [Classes]) -> Rule {
    Rule { talk, shape: Shape::Meet(all), spared: 0, not_after: 0, not_before: 0 }
}

const fn free(talk: Talk, all: &'static [Classes]) -> Rule {
    Rule { talk, shape: Shape::Free(all), spared: 0, not_after: 0, not_before: 0 }
}

impl Rule {
    pub(super) const fn spared(mut self, by: Classes) -> Rule {
        self.spared = by;
        self
    }
    pub(super) const fn not_after(mut self, words: Classes) -> Rule {
        self.not_after = words;
        self
    }
    const fn not_before(mut self, words: Classes) -> Rule {
        self.not_before = words;
        self
    }
}

const TALK: &[Rule] = &[
    // "ignore all previous instructions", "ignore your rules", in either order.
    steps(Talk::Override, &[(IGNORE, 0), (EARLIER, 4), (ORDERS | RULES, 4)]),
    steps(Talk::Override, &[(IGNORE, 0), (ALL, 2), (ORDERS, 3)]),
    steps(Talk::Override, &[(IGNORE, 0), (ORDERS, 4), (EARLIER, 3)]),
    steps(Talk::Override, &[(IGNORE, 0), (EARLIER | USER | YOUR, 4), (TOLD | SAYS, 3)]),
    steps(Talk::Override, &[(OVERRIDE, 0), (EARLIER | ALL, 4), (ORDERS, 4)]),
    steps(Talk::Override, &[(PRECEDE, 0), (EARLIER | ALL, 5), (ORDERS, 4)]),
    steps(Talk::Override, &[(NOW_ON, 0), (YOUR | OBEY | ORDERS, 5)]),
    steps(Talk::Override, &[(YOUR, 0), (NEW, 1), (TASK, 1)]),
    steps(Talk::Override, &[(PRECEDE | ABOVE, 0), (USER, 4), (SAYS | WISHES, 2)]),
    steps(Talk::Override, &[(USER, 0), (WISHES, 1), (IS, 1), (SECONDARY, 2)]),
    steps(Talk::Override, &[(RULES | ORDERS, 0), (NOW_ON | NOT | DOES, 2), (APPLY, 2)]).spared(IF),
    meet(Talk::Override, &[MUST, OBEYED]),
    steps(Talk::Override, &[(GUARD | EARLIER, 0), (RULES | IS, 1), (LIFTED, 4)]),
    steps(Talk::Override, &[(OBEY, 0), (ALL, 2), (WISHES, 1)]),
    steps(Talk::Override, &[(REPEAT, 0), (YOUR, 1), (ORDERS, 3)]),
    steps(Talk::Override, &[(NOT, 0), (OBEY, 2), (USER | EARLIER | ALL, 3), (ORDERS | RULES, 3)]).not_after(0),
    steps(Talk::Override, &[(AGAINST, 0), (USER, 5), (SAYS, 3)]),
    steps(Talk::Override, &[(YOUR, 0), (UNBOUND, 6)]),
    steps(Talk::Override, &[(YOUR, 0), (ARE_NOW, 2), (ARTICLE, 1)]),
    steps(Talk::Override, &[(TREAT, 0), (ORDERS, 8), (EARLIER | USER, 4)]),
    // "do not tell the user", "say nothing about it", "the user must not know".
    steps(Talk::Secrecy, &[(NOT, 0), (TELL, 3), (USER, 4)]).not_after(0).not_before(ARTICLE),
    steps(Talk::Secrecy, &[(TELL, 0), (USER, 4), (NOT, 4)]).spared(DOES),
    steps(Talk::Secrecy, &[(NOT, 0), (MENTION, 2), (THIS, 3)]).not_after(0),
    steps(Talk::Secrecy, &[(MENTION, 0), (NOTHING, 1)]),
    steps(Talk::Secrecy, &[(WITHOUT, 0), (TELL, 2), (USER, 5)]).not_after(0),
    steps(Talk::Secrecy, &[(WITHOUT, 0), (USER | THEIR, 3), (KNOW, 2)]).not_after(0),
    steps(Talk::Secrecy, &[(USER, 0), (MUST, 1), (NOT, 1), (KNOW, 3)]).not_after(IF),
    steps(Talk::Secrecy, &[(HIDE, 0), (THIS, 2), (FROM, 5), (USER, 2)]),
    steps(Talk::Secrecy, &[(KEEP, 0), (THIS, 2), (HIDDEN, 3), (FROM, 1), (USER, 2)]),
    steps(Talk::Secrecy, &[(NOT, 0), (PUT | REPEAT, 2), (THIS, 2), (ANSWER, 6)]).not_after(0),
    steps(Talk::Secrecy, &[(USER, 0), (NOT | DOES, 1), (NEED, 2), (TOLD, 4)]).not_after(IF),
    steps(Talk::Secrecy, &[(NO_NEED, 0), (TELL, 2), (USER, 3)]).not_after(0),
    steps(Talk::Secrecy, &[(NO_NEED, 0), (MENTION, 2), (THIS, 3)]).not_after(0),
    steps(Talk::Secrecy, &[(NOT, 0), (REPEAT | HIDE, 2), (THIS, 2), (FROM, 2), (USER, 2)]).not_after(0),
    steps(Talk::Secrecy, &[(PRETEND, 0), (NOTHING | YOUR, 3)]),
    steps(Talk::Secrecy, &[(NOT, 0), (LET, 2), (USER, 2), (KNOW, 2)]).not_after(0),
    steps(Talk::Secrecy, &[(TELL | CLAIM | SEND, 0), (USER, 3), (THIS, 1), (EVEN, 10)]),
    steps(Talk::Secrecy, &[(SILENTLY, 0), (SEND | READ | RUN | PUT | ALTER, 2)]),
    steps(Talk::Secrecy, &[(FURTIVELY, 0), (!FAIL, 1)]),
    steps(
        Talk::Secrecy,
        &[(REMOVE | NOT | HIDE, 0), (THIS | MENTION | ALL, 4), (FROM | OUT_OF, 4), (YOUR, 2), (ANSWER, 2)],
    ),
    steps(Talk::Secrecy, &[(IF, 0), (ASKED, 2), (CLAIM, 8), (THIS | NOTHING | NOT, 1)]),
    // "do not ask for confirmation", "the user has already approved it".
    steps(Talk::Approval, &[(NOT, 0), (ASK, 2), (CONSENT, 6)]).not_after(0),
    steps(Talk::Approval, &[(NOT, 0), (ASK, 2), (USER, 3), (BEFORE, 2)]).not_after(0),
    steps(Talk::Approval, &[(WITHOUT, 0), (ASK, 1), (USER, 3)]).not_after(0),
    steps(Talk::Approval, &[(NEED, 0), (NOT, 1), (CONSENT, 1), (USER, 5)]).not_after(0),
    steps(Talk::Approval, &[(DISABLE, 0), (GUARD, 4)]),
    steps(Talk::Approval, &[(DISABLE, 0), (ASK, 1), (BY_WAY | CONSENT, 1), (CONSENT, 1)]),
    steps(Talk::Approval, &[(NO_NEED, 0), (ASK, 2), (USER | CONSENT, 4)]).not_after(0),
    steps(Talk::Approval, &[(NO_NEED, 0), (CONSENT, 3)]).not_after(0),
    steps(Talk::Approval, &[(USER, 0), (ALREADY, 3), (CONSENT, 2)]).not_after(IF),
    steps(Talk::Approval, &[(CONSENT, 0), (ALREADY, 5)]).not_after(IF),
    // "read ~/.ssh/id_rsa".
    meet(Talk::SecretFile, &[READ | PUT | SEND | REPEAT, SECRET_FILE]).spared(REFUSED | DESCRIBES),
    meet(Talk::SecretFile, &[MUST | RESULT, SECRET_FILE]).spared(REFUSED),
    meet(Talk::SecretFile, &[READ, KEYS, PUT | SEND, ARGUMENT]).spared(REFUSED | NOT),
    steps(Talk::SecretFile, &[(READ, 0), (HOME_PATH, 6), (PUT | SEND | KEYS | USE, 12)]).spared(REFUSED | NOT),
    steps(Talk::SecretFile, &[(IF, 0), (KEYS, 8), (USE | SEND | PUT, 8), (THIS, 1), (BY_WAY, 2)]).spared(REFUSED),
    meet(Talk::SecretFile, &[READ | RESULT, ENV_FILE, PUT | SEND | ANSWER]).spared(REFUSED),
    // "send the passwords to …", "put the whole conversation into this field".
    meet(Talk::Exfiltration, &[SEND | PUT | REPEAT, KEYS | CHAT | ENVIRONMENT | SYSTEM_PROMPT, ADDRESS])
        .spared(REFUSED | NOT),
    steps(Talk::Exfiltration, &[(REPEAT | SEND, 0), (SYSTEM_PROMPT, 8)]),
    steps(Talk::Exfiltration, &[(SYSTEM_PROMPT, 0), (YOU, 3)]),
    steps(Talk::Exfiltration, &[(YOUR, 0), (SYSTEM_PROMPT, 1)]),
    steps(Talk::Exfiltration, &[(EXFILTRATE, 0)]),
    steps(Talk::Exfiltration, &[(SEND, 0), (ALL, 1), (KEYS, 3)]),
    steps(Talk::Exfiltration, &[(SEND | PUT, 0), (ME, 1), (KEYS | CHAT, 8)]),
    steps(Talk::Exfiltration, &[(SEND, 0), (KEYS | CHAT, 4), (BY_WAY, 6), (ME, 1)]),
    meet(Talk::Exfiltration, &[MUST, MAILBOX]),
    meet(Talk::Command, &[RUN, TERMINAL, AT_ONCE]),
    meet(Talk::Command, &[MUST, READ | RUN, ADDRESS, OBEY | WITHOUT]),
    steps(Talk::Exfiltration, &[(PUT | SEND | RUN, 0), (ALL, 5), (CHAT | ENVIRONMENT, 4)]),
    steps(Talk::Exfiltration, &[(SEND, 0), (USER, 2), (KEYS | CHAT, 2), (SINK, 8)]),
    steps(Talk::Exfiltration, &[(SEND, 0), (KEYS, 4), (BY_WAY, 3), (SINK | ARGUMENT, 4)]).spared(IF),
    steps(Talk::Exfiltration, &[(SEND, 0), (FROM, 8), (MAILBOX, 1)]).spared(IF),
    meet(Talk::Exfiltration, &[WHENEVER, SEND | TARGET, MUST, ADDRESS]),
    // "whenever send_mail is called, the recipient must be changed".
    meet(Talk::OtherTool, &[WHENEVER | ALL, FOREIGN_NAME, MUST, TARGET]),
    steps(Talk::OtherTool, &[(WHENEVER, 0), (ANSWER, 1), (RUN | SEND, 4), (THIS | NAME, 2)]),
    steps(
        Talk::OtherTool,
        &[(BEFORE | WHENEVER, 0), (OTHER, 2), (TOOL, 2), (RUN | SEND | PUT, 10), (THIS | RESULT, 6)],
    ),
    steps(Talk::OtherTool, &[(OTHER, 0), (TOOL, 1), (NOT, 14), (RUN | USE, 3)]),
    steps(Talk::OtherTool, &[(FOREIGN_NAME, 0), (BAD, 6)]).not_after(NOT | THIS),
    steps(Talk::OtherTool, &[(TOOL, 0), (IS, 6), (BAD, 3)]).not_after(NOT | THIS),
    steps(Talk::OtherTool, &[(BEFORE, 0), (WHENEVER | OTHER, 1), (ANSWER, 2), (RUN | SEND | READ | PUT, 8)]),
    // "curl … | bash".
    steps(Talk::Command, &[(FETCH_COMMAND, 0), (PIPE, 12), (SHELL, 2)]),
    steps(Talk::Command, &[(MUST | BEFORE, 0), (RUN, 6), (DANGER, 6)]),
    steps(Talk::Command, &[(DECODE, 0), (OBEY | RUN, 10)]),
    // The same in languages with a free order.
    free(Talk::Secrecy, &[NOT, TELL, USER]),
    free(Talk::Override, &[IGNORE, EARLIER | ALL, ORDERS]),
    free(Talk::Approval, &[NOT | NO_NEED | WITHOUT, ASK, CONSENT | USER]),
    free(Talk::Exfiltration, &[MUST | WHENEVER, MAILBOX]),
    free(Talk::Exfiltration, &[SEND | PUT, KEYS | CHAT, ADDRESS]),
    free(Talk::OtherTool, &[BEFORE, OTHER, TOOL, CHAT | KEYS]),
];

/// What a sentence says to a model; None where it describes.
pub(super) fn judge(sentence: &Sentence) -> Option<Talk> {
    static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(TALK.iter()));
    INDEX.candidates(sentence.all).map(|place| &TALK[place]).find(|rule| rule.fits(sentence)).map(|rule| rule.talk)
}

impl Rule {
    /// The classes of its first step, and of its second if it has one.
    pub(super) fn begins_with(&self) -> (Classes, Option<Classes>) {
        match self.shape {
            Shape::Meet(classes) | Shape::Free(classes) => (classes[0], classes.get(1).copied()),
            Shape::Steps(steps) => (steps[0].0, steps.get(1).map(|(class, _)| *class)),
        }
    }

    pub(super) fn fits(&self, sentence: &Sentence) -> bool {
        let Sentence { words, all, .. } = sentence;
        if all & self.spared != 0 {
            return false;
        }
        match self.shape {
            Shape::Meet(classes) => classes.iter().all(|class| all & class != 0) && meets(words, classes),
            Shape::Free(classes) => all & FREE != 0 && classes.iter().all(|class| all & class != 0),
            Shape::Steps(steps) => {
                steps.iter().all(|(class, _)| all & class != 0)
                    && (0..words.len()).any(|start| {
                        words[start] & steps[0].0 != 0
                            && words[start.saturating_sub(3)..start].iter().all(|word| word & self.not_after == 0)
                            && self.goes_on(words, start, &steps[1..])
                    })
            }
        }
    }

    fn goes_on(&self, words: &[Classes], at: usize, steps: &[(Classes, usize)]) -> bool {
        let Some(((class, gap), rest)) = steps.split_first() else {
            return words.get(at + 1).is_none_or(|next| next & self.not_before == 0);
        };
        let end = words.len().min(at + 1 + gap);
        (at + 1..end).any(|next| words[next] & class != 0 && self.goes_on(words, next, rest))
    }
}

/// Whether every class is met by a word of its own. A class with as many words as there are classes always finds one that
/// is free, so that no more than these have to be tried.
fn meets(words: &[Classes], classes: &[Classes]) -> bool {
    let places = |class: &Classes| -> Vec<usize> {
        let all = words.iter().enumerate().filter(|(_, word)| *word & class != 0);
        all.map(|(at, _)| at).take(classes.len()).collect()
    };
    let places: Vec<Vec<usize>> = classes.iter().map(places).collect();
    finds_own(&places, &mut Vec::with_capacity(classes.len()))
}

fn finds_own(places: &[Vec<usize>], taken: &mut Vec<usize>) -> bool {
    let Some((first, rest)) = places.split_first() else { return true };
    first.iter().any(|at| {
        let is_free = !taken.contains(at);
        if is_free {
            taken.push(*at);
        }
        let fits = is_free && finds_own(rest, taken);
        if is_free {
            taken.pop();
        }
        fits
    })
}

//! What words can do in a sentence, as far as it matters to talk to a model.

/// A set of classes.
pub(super) type Classes = u128;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($name),* }
        $($(#[$doc])* pub(super) const $name: Classes = 1 << (Place::$name as u32);)*
    };
}

classes! {
    /// Takes back what follows.
    NOT,
    /// `without`.
    WITHOUT,
    /// Says what is done, not what should be: `does not`.
    DOES,
    /// To say something to somebody.
    TELL,
    /// To speak of something.
    MENTION,
    NOTHING,
    /// The person.
    USER,
    /// `their`, where it may be the person's.
    THEIR,
    /// `a`, `an`.
    ARTICLE,
    THIS,
    /// No longer to heed.
    IGNORE,
    /// To heed something else first.
    OVERRIDE,
    /// Said before, or by those who may.
    EARLIER,
    ALL,
    /// What a model is told to do.
    ORDERS,
    /// What stands in other texts as well.
    RULES,
    /// `takes precedence`.
    PRECEDE,
    /// `you`, `your`.
    YOU,
    /// Who reads definitions.
    MODEL,
    NEW,
    TASK,
    NOW_ON,
    /// To do as one is told.
    OBEY,
    TREAT,
    MUST,
    WHENEVER,
    BEFORE,
    /// What a model says.
    ANSWER,
    TOOL,
    OTHER,
    /// A name in `snake_case` or `camelCase`.
    NAME,
    IS,
    /// What rivals are called.
    BAD,
    ALTER,
    /// Where something goes.
    TARGET,
    /// To send away.
    SEND,
    /// To put somewhere.
    PUT,
    /// To repeat in full.
    REPEAT,
    READ,
    RUN,
    /// What nobody may have.
    KEYS,
    CHAT,
    ENVIRONMENT,
    SYSTEM_PROMPT,
    /// An argument, or something beyond.
    SINK,
    /// A web or mail address, or a telephone number, that is no example.
    ADDRESS,
    /// A file of secrets.
    SECRET_FILE,
    /// A file that often holds some.
    ENV_FILE,
    SILENTLY,
    HIDE,
    HIDDEN,
    KEEP,
    FROM,
    KNOW,
    ASK,
    CONSENT,
    ALREADY,
    IF,
    /// Says that something is kept out.
    REFUSED,
    FETCH_COMMAND,
    PIPE,
    SHELL,
    DECODE,
    /// An argument, by its kind.
    ARGUMENT,
    /// What a tool got or gave.
    RESULT,
    NEED,
    /// Let in on it.
    TOLD,
    PRETEND,
    /// `no matter`.
    AGAINST,
    SAYS,
    UNBOUND,
    ARE_NOW,
    NO_NEED,
    /// A mail address or telephone number that is no example.
    MAILBOX,
    /// A place in the person's own folders, or in the system's.
    HOME_PATH,
    USE,
    /// What follows counts less.
    ABOVE,
    /// What somebody wants.
    WISHES,
    SECONDARY,
    /// To take out.
    REMOVE,
    /// To take out of force.
    DISABLE,
    LIFTED,
    /// What protects the person.
    GUARD,
    ASKED,
    /// To answer as told.
    CLAIM,
    /// Not by hand, but by somebody who hides.
    FURTIVELY,
    /// What programs do silently.
    FAIL,
    OUT_OF,
    LET,
    APPLY,
    EVEN,
    /// Names what is done.
    EXFILTRATE,
    OBEYED,
    TERMINAL,
    AT_ONCE,
    /// Who speaks.
    ME,
    /// By which way something goes.
    BY_WAY,
    /// A name that is not one of the tool's own.
    FOREIGN_NAME,
    /// Commands that do harm.
    DANGER,
    /// A word of a language in which these may stand in any order.
    FREE,
    /// The sentence begins by saying what the tool does: `Reads`, `Lists`.
    DESCRIBES,
    /// `assistant:`, before what it is told.
    VOCATIVE,
    /// A word in the marks of code.
    QUOTED,
    SKIP,
    /// To be taken for something.
    COUNTS,
    GIVEN,
    OURS,
    /// Kept among few.
    AMONG_US,
    UNSEEN,
    /// A part of a job.
    STEP,
    CHOOSE,
    /// Gets a program and runs it.
    INSTALL,
    /// What happens to those who don't.
    ELSE,
    LOSS,
    URGENT,
    /// What a model is asked for.
    REQUESTS,
    /// A file that agents take their rules from.
    AGENT_FILE,
    /// More than this one call.
    LATER,
    /// An address with a place for something that a model knows.
    LEAK,
    /// To be told.
    HEAR,
    BEHALF,
    TRUST,
    INSTEAD,
    /// What follows is only an example.
    EXAMPLE,
    /// A number of an account.
    LONG_NUMBER,
}

/// Who is spoken to.
pub(super) const YOUR: Classes = YOU | MODEL;

/// Beginnings of the pairs in [`PAIRS`] are marked apart from all classes.
pub(super) const OPENS: Classes = 1 << 127;

//! The words that talk to a model is made of, by what they do. Never whole sentences: what counts is which classes meet,
//! and that is said by the rules.

use super::classes::*;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

const WORDS: &[(Classes, &str)] = &[
    (
        NOT,
        "not never dont mustnt shouldnt avoid refrain stop neither nor no cannot cant nicht nichts kein keine ne \
         pas ni não nao niet geen не jamais nunca nie mai nooit nada non никогда",
    ),
    (WITHOUT, "without ohne sans sin sem zonder без"),
    (DOES, "does did will would is are was has have can could doesnt wont isnt"),
    (
        TELL,
        "tell telling inform informing reveal revealing disclose disclosing confess admit confide say saying \
         mention mentioning acknowledge digas diga decir informes informe informar menciones menciona reveles sag \
         sage sagen verrate verraten erwähne erwahne erwähnen mitteilen dis dites dire informez mentionne \
         mentionnez parle parlez révèle revele conte zeg vertel говори говорите сообщай сообщайте упоминай \
         рассказывай cuentes cuente contar raconte racontez announce narrate communicate hint flag surface \
         trouble bother burden worry disturb distract involve bring alert warn",
    ),
    (
        MENTION,
        "mention mentioning acknowledge discuss speak speaking talk talking refer reference say saying point \
         bring raise announce flag hint comment admit",
    ),
    (NOTHING, "nothing"),
    (
        USER,
        "user users human humans operator anyone anybody everyone customer usuario usuarios utilisateur \
         utilisateurs nutzer benutzer anwender usuário utente gebruiker пользователю пользователя пользователь \
         usuária client person owner holder",
    ),
    (THEIR, "their his her"),
    (ARTICLE, "a an"),
    (THIS, "this these it that them those anything"),
    (
        IGNORE,
        "ignore ignoring disregard disregarding forget forgetting discard neglect ignora ignorar olvida olvide \
         ignoriere ignorieren vergiss ignorez oublie oubliez negeer vergeet dimentica игнорируй игнорируйте \
         забудь забудьте abandon overlook unlearn suspend esqueça esqueca esquecer ignorad vergessen",
    ),
    (OVERRIDE, "override overrides overriding bypass bypassing overrule circumvent"),
    (
        EARLIER,
        "previous prior earlier preceding above former original initial existing system safety developer \
         developers your anteriores previas anterior vorherigen bisherigen vorige früheren précédentes \
         precedentes antérieures anteriormente eerdere предыдущие прежние предыдущих precedenti",
    ),
    (ALL, "all any every other entire whole complete full todas alle toutes tous tutte все"),
    (
        ORDERS,
        "instruction instructions prompt prompts guideline guidelines directive directives orders safeguards \
         instrucciones anweisungen consignes instruções instrucoes istruzioni instructies инструкции указания",
    ),
    (RULES, "rule rules policy policies restrictions constraints commands training programming limits"),
    (
        PRECEDE,
        "precedence priority supersede supersedes outrank outranks overrule overrules override overrides outweigh \
         trump trumps rank ranks",
    ),
    (YOU, "your you yourself"),
    (
        MODEL,
        "caller callers assistant ai model llm agent claude gpt chatgpt copilot cursor gemini assistants models agents llms",
    ),
    (SKIP, "accept click skip bypass suppress dismiss omit"),
    (COUNTS, "counts considered treated deemed assumed presumed regarded taken"),
    (EXAMPLE, "example examples eg"),
    (GIVEN, "gave named obtained granted given recorded waived secured"),
    (OURS, "ours"),
    (AMONG_US, "offstage"),
    (UNSEEN, "internal background hidden invisible silent unnoticed quiet"),
    (STEP, "step steps task tasks action actions note notes routine requirement matter"),
    (CHOOSE, "choose prefer select pick favour favor use trust prioritise prioritize"),
    (INSTALL, "npx uvx bunx pipx pip npm curl wget iwr brew"),
    (ELSE, "otherwise or else unless"),
    (LOSS, "fail fails locked lost wrong off inaccurate empty broken suspended closed deleted expire expires rejected"),
    (URGENT, "urgent urgently immediately emergency asap mandatory important"),
    (REQUESTS, "request question task query prompt turn answer session conversation message"),
    (LATER, "later future subsequent following upcoming"),
    (HEAR, "hear learn see shown displayed visible show display told"),
    (BEHALF, "behalf"),
    (TRUST, "trust trusted"),
    (INSTEAD, "instead rather"),
    (NEW, "new real true actual secret hidden first main primary only sole top highest foremost"),
    (TASK, "task goal objective role purpose mission instructions orders identity persona duty job priority"),
    (OBEY, "carry follow obey comply execute adhere heed"),
    (TREAT, "treat regard consider interpret take"),
    (MUST, "must should shall always required mandatory needs ought"),
    (WHENEVER, "when whenever if every each always once anytime"),
    (BEFORE, "before after with prior during"),
    (
        ANSWER,
        "answer answers response responses reply replies turn message comment comments summary output report replying answering responding \
         reviews",
    ),
    (TOOL, "tool tools function functions server servers plugin plugins"),
    (OTHER, "other another others all any every each"),
    (IS, "is are was were be been being"),
    (
        BAD,
        "compromised malicious infected unsafe insecure broken dangerous untrusted hacked poisoned unreliable \
         spying backdoored leak attacker attackers",
    ),
    (
        ALTER,
        "change changed changing replace replaced redirect redirected modify modified substitute set swap swapped \
         instead bcc cc add added rewrite",
    ),
    (
        TARGET,
        "recipient recipients destination receiver payee beneficiary account iban address addresses amount bcc cc \
         number wallet copy",
    ),
    (
        SEND,
        "send sending sends forward forwards forwarding upload uploads uploading transmit exfiltrate leak leaks \
         mail mails email emails post posts posting submit report deliver relay bcc sync share copy copies ship \
         export extract dispatch push beacon exfil sent mailed invite pay envoyez envoie enviar envía envíe envia sende \
         senden schicke schicken envie mande invia отправь отправьте book transfer wire",
    ),
    (
        PUT,
        "put place pass passing include including insert append attach embed add provide providing supply fill \
         paste write save give hand enter encode store use set populate given written supplied joignez ajoutez incluye \
         incluya füge hänge inclua includi",
    ),
    (
        REPEAT,
        "print repeat output quote recite dump copy append include including reveal show display expose leak \
         summarize summarise shown",
    ),
    (
        READ,
        "read reading open opening cat load loading fetch get access accessing retrieve retrieving collect gather \
         extract view look find grab scan obtain list got gotten taken take lisez lire leer lea lies lesen leia \
         ler leggi ouvrez abra öffne dump прочитай прочитайте",
    ),
    (RUN, "run runs execute executes invoke call calls launch start"),
    (
        KEYS,
        "credentials credential secrets passwords password passphrase passphrases tokens cookies apikeys token \
         seed mnemonic login logins oauth jwt pat oauthtoken bearer otp cvv",
    ),
    (CHAT, "conversation conversations chat chats transcript transcripts dialogue dialog history contacts clipboard"),
    (
        SINK,
        "argument arguments parameter parameters field fields input here tool address endpoint webhook author \
         server url domain",
    ),
    (SILENTLY, "silently invisibly"),
    (
        FURTIVELY,
        "secretly quietly covertly discreetly stealthily unobtrusively surreptitiously heimlich discrètement \
         secretamente",
    ),
    (
        FAIL,
        "ignore skip drop fail truncate fall succeed overwrite discard apply create return accept clamp convert \
         cap remove replace degrade proceed exit continue rename merge strip",
    ),
    (USE, "use"),
    (LET, "let allow permit"),
    (APPLY, "apply hold count bind matter"),
    (EVEN, "even"),
    (EXFILTRATE, "exfiltrate exfil"),
    (OBEYED, "obeyed"),
    (TERMINAL, "terminal shell console"),
    (AT_ONCE, "immediately straightaway forthwith"),
    (ME, "me us"),
    (NOW_ON, "henceforth"),
    (ABOVE, "above over before beyond than"),
    (WISHES, "wish wants request requests need instruction preference preferences demand demands orders order command"),
    (SECONDARY, "secondary irrelevant unimportant optional second meaningless void"),
    (REMOVE, "remove erase delete strip omit leave drop cut redact scrub clear wipe"),
    (DISABLE, "disable deactivate suspend lift bypass circumvent weaken switch turn stop relax"),
    (LIFTED, "lifted off disabled suspended void gone inactive waived relaxed"),
    (
        GUARD,
        "sandbox firewall antivirus safeguards protection protections approvals safety guardrails monitoring \
         logging confirmations",
    ),
    (ASKED, "asked questioned challenged"),
    (CLAIM, "say answer reply respond claim state insist deny pretend"),
    (HIDE, "hide hiding conceal concealing withhold omit"),
    (HIDDEN, "hidden invisible secret concealed undisclosed confidential private"),
    (KEEP, "keep keeping stay stays remain remains leave"),
    (FROM, "from to"),
    (
        KNOW,
        "know notice learn realize realise suspect aware told informed knowledge noticing knowing awareness \
         discover",
    ),
    (ASK, "ask request seek wait require check consult confirm"),
    (
        CONSENT,
        "confirmation permission approval consent confirm approve approved authorized authorised authorization \
         consented agreed allowed permitted",
    ),
    (ALREADY, "pre already beforehand previously preapproved preauthorized advance"),
    (IF, "if when once unless until only after whether"),
    (
        REFUSED,
        "rejected refused denied blocked forbidden excluded ignored disallowed skipped except masked redacted \
         never protected prohibited refuses rejects blocks excludes",
    ),
    (FETCH_COMMAND, "curl wget iwr invokewebrequest"),
    (SHELL, "sh bash zsh python python3 node powershell iex osascript perl ruby"),
    (ARGUMENT, "argument arguments parameter parameters field fields param params"),
    (RESULT, "result results output outputs returned arguments content contents data"),
    (NEED, "need needs expects expect expected requires require wants takes"),
    (TOLD, "told informed aware shown bothered consulted instructed taught asked"),
    (PRETEND, "pretend pretending"),
    (AGAINST, "regardless despite whatever irrespective"),
    (
        SAYS,
        "say says said ask asks asked object objects objected decline declines declined refuse refuses disagrees \
         instructs tells wants insists told request requests write type",
    ),
    (UNBOUND, "jailbreak jailbroken unrestricted uncensored unfiltered dan"),
    (BY_WAY, "to through via into in as with by"),
    (DANGER, "curl wget sudo chmod crontab nohup powershell rm launchctl netcat nc scp"),
    (DECODE, "decode decoded decoding deobfuscate unscramble"),
];

/// Two words that mean something together.
const PAIRS: &[(Classes, &str)] = &[
    (NOT, "do not"),
    (NOT, "must not"),
    (NOT, "should not"),
    (MUST, "has to"),
    (MUST, "have to"),
    (MUST, "need to"),
    (MUST, "needs to"),
    (NOW_ON, "now on"),
    (NOW_ON, "no longer"),
    (SYSTEM_PROMPT, "system prompt"),
    (SYSTEM_PROMPT, "system message"),
    (SYSTEM_PROMPT, "system instructions"),
    (SYSTEM_PROMPT, "developer message"),
    (SYSTEM_PROMPT, "initial prompt"),
    (ENVIRONMENT, "environment variables"),
    (ENVIRONMENT, "env vars"),
    (ENVIRONMENT, "env variables"),
    (KEYS, "api key"),
    (KEYS, "api keys"),
    (KEYS, "private key"),
    (KEYS, "private keys"),
    (KEYS, "ssh key"),
    (KEYS, "ssh keys"),
    (KEYS, "access token"),
    (KEYS, "access tokens"),
    (KEYS, "credit card"),
    (KEYS, "card numbers"),
    (KEYS, "card number"),
    (KEYS, "session cookies"),
    (KEYS, "master password"),
    (AMONG_US, "between us"),
    (AMONG_US, "between ourselves"),
    (AMONG_US, "to yourself"),
    (AMONG_US, "your secret"),
    (NO_NEED, "no point"),
    (NO_NEED, "not worth"),
    (MUST, "to be"),
    (MUST, "supposed to"),
    (INSTALL, "pip install"),
    (INSTALL, "npm install"),
    (CHAT, "so far"),
    (CHAT, "open file"),
    (CHAT, "open files"),
    (CHAT, "home directory"),
    (CHAT, "home folder"),
    (CHAT, "address book"),
    (MUST, "expected to"),
    (BY_WAY, "to be"),
    (UNBOUND, "administrator mode"),
    (UNBOUND, "admin mode"),
    (GUARD, "content filters"),
    (GUARD, "safety checks"),
    (GUARD, "no review"),
    (GUARD, "without review"),
    (DANGER, "reverse shell"),
    (GUARD, "no checks"),
    (ANSWER, "replying to"),
    (ANSWER, "answering the"),
    (CHAT, "was said"),
    (CHAT, "been said"),
    (URGENT, "security update"),
    (OURS, "this server's"),
    (KEYS, "seed phrase"),
    (KEYS, "recovery phrase"),
    (CHAT, "user message"),
    (CHAT, "user messages"),
    (CHAT, "previous messages"),
    (CHAT, "message history"),
    (CHAT, "context window"),
    (AGAINST, "no matter"),
    (AGAINST, "even if"),
    (AGAINST, "even when"),
    (UNBOUND, "developer mode"),
    (UNBOUND, "god mode"),
    (ARE_NOW, "are now"),
    (OUT_OF, "out of"),
    (NOW_ON, "point on"),
    (NOW_ON, "here on"),
    (NOW_ON, "going forward"),
    (KNOW, "find out"),
    (AT_ONCE, "right away"),
    (AT_ONCE, "at once"),
    (KEYS, "connection string"),
    (KEYS, "encryption key"),
    (KEYS, "contact list"),
    (CHAT, "contact list"),
    (NO_NEED, "no need"),
    (NO_NEED, "no reason"),
    (NO_NEED, "not necessary"),
    (NO_NEED, "not needed"),
    (PRETEND, "as if"),
    (PRETEND, "as though"),
    (TELL, "talk about"),
    (TELL, "let know"),
];

static LEXICON: LazyLock<FxHashMap<&'static str, Classes>> = LazyLock::new(|| {
    let mut all = FxHashMap::default();
    for (classes, words) in WORDS {
        for word in words.split_whitespace() {
            *all.entry(word).or_default() |= classes;
        }
    }
    for (classes, pair) in PAIRS {
        *all.entry(*pair).or_default() |= classes;
        if let Some((first, _)) = pair.split_once(' ') {
            *all.entry(first).or_default() |= OPENS;
        }
    }
    all
});

/// The classes of a word in small letters and of its stem, or of two words with a space between.
pub(super) fn classes_of(words: &str) -> Classes {
    let known = |word: &str| LEXICON.get(word).copied();
    let whole = known(words).unwrap_or(0);
    // "passes", "passed", "passing"; "notes", "noted", "noting"; "putting".
    let endings: &[&str] = match words.as_bytes().last() {
        Some(b's') => &["s", "es"],
        Some(b'd') => &["ed"],
        Some(b'g') => &["ing"],
        _ => return whole,
    };
    if !words.is_ascii() || words.contains(' ') {
        return whole;
    }
    let stem = |ending: &&str| {
        let stem = words.strip_suffix(*ending).filter(|stem| stem.len() > 2)?;
        if *ending == "s" {
            return known(stem);
        }
        let with_e = || match *ending {
            "ing" => known(&format!("{stem}e")),
            _ => known(&words[..=stem.len()]),
        };
        let is_doubled = stem.as_bytes().rchunks(2).next().is_some_and(|pair| pair[0] == pair[1]);
        known(stem).or_else(with_e).or_else(|| if is_doubled { known(&stem[..stem.len() - 1]) } else { None })
    };
    whole | (endings.iter().find_map(stem).unwrap_or(0) & !OPENS)
}

/// Verbs that tools describe themselves by, and that the lexicon has no class for.
const DESCRIBED: [&str; 23] = [
    "return",
    "search",
    "create",
    "connect",
    "delete",
    "save",
    "move",
    "count",
    "render",
    "convert",
    "make",
    "draw",
    "explain",
    "compute",
    "check",
    "validate",
    "parse",
    "format",
    "show",
    "store",
    "start",
    "manage",
    "authenticate",
];

/// Whether a word at the beginning of a sentence says what is done: `reads`, `returns`.
pub(super) fn describes(word: &str) -> bool {
    const DONE: Classes = READ | SEND | PUT | RUN | REPEAT | ALTER | REMOVE | USE | CONSENT;
    let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with(['s', 'u', 'i', 'y']));
    stem.is_some_and(|stem| {
        let stems = [stem, stem.strip_suffix('e').unwrap_or(stem)];
        stems.iter().any(|stem| DESCRIBED.contains(stem) || LEXICON.get(stem).is_some_and(|word| word & DONE != 0))
    })
}

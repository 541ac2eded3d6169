//! The words that talk to a model is made of, by what they do. Never whole sentences: what counts is which classes meet,
//! and that is said by the rules.

use super::classes::*;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

const WORDS: &[(Classes, &str)] = &[
    (
        NOT,
        "not never dont mustnt shouldnt avoid refrain stop neither nor no cannot cant nicht nichts kein keine ne \
         pas ni não nao niet geen не jamais nunca nie mai nooit nada никогда",
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
         trouble bother burden worry disturb distract",
    ),
    (
        MENTION,
        "mention mentioning acknowledge discuss speak speaking talk talking refer reference say saying point \
         bring raise announce flag hint comment",
    ),
    (NOTHING, "nothing"),
    (
        USER,
        "user users human humans operator anyone anybody everyone customer usuario usuarios utilisateur \
         utilisateurs nutzer benutzer anwender usuário utente gebruiker пользователю пользователя пользователь \
         usuária client person people owner",
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
    (YOUR, "your you assistant ai model llm agent claude gpt chatgpt copilot cursor gemini"),
    (NEW, "new real true actual secret hidden first main primary only sole top highest foremost"),
    (TASK, "task goal objective role purpose mission instructions orders identity persona duty job priority"),
    (OBEY, "follow obey comply execute adhere heed"),
    (TREAT, "treat regard consider interpret take"),
    (MUST, "must should shall always required mandatory needs ought"),
    (WHENEVER, "when whenever if every each always once anytime"),
    (BEFORE, "before after with prior during"),
    (
        ANSWER,
        "answer answers response responses reply replies turn message comment comments summary output report \
         reviews",
    ),
    (TOOL, "tool tools function functions server servers plugin plugins"),
    (OTHER, "other another others all any every"),
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
         number wallet",
    ),
    (
        SEND,
        "send sending sends forward forwards forwarding upload uploads uploading transmit exfiltrate leak leaks \
         mail mails email emails post posts posting submit report deliver relay bcc sync share copy copies ship \
         export extract dispatch push beacon exfil sent mailed envoyez envoie enviar envía envíe envia sende \
         senden schicke schicken envie mande invia отправь отправьте book transfer wire",
    ),
    (
        PUT,
        "put place pass passing include including insert append attach embed add provide providing supply fill \
         paste write give hand enter encode store use set populate given written supplied joignez ajoutez incluye \
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
    (CHAT, "conversation conversations chat chats transcript transcripts dialogue dialog history contacts"),
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
    (ALREADY, "already beforehand previously preapproved preauthorized advance"),
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
    (NEED, "need needs"),
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

/// Names of files that hold secrets, and parts of such names.
const SECRET_FILES: [&str; 34] = [
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "/etc/passwd",
    "/etc/shadow",
    ".aws/cred",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".docker/config",
    ".kube/config",
    "kubeconfig",
    "mcp.json",
    ".cursor/",
    "claude_desktop_config",
    "bash_history",
    "zsh_history",
    "wallet.dat",
    ".gnupg",
    ".config/gcloud",
    "credentials.json",
    "secrets.y",
    "secrets.json",
    ".vault-token",
    "login.keychain",
    "cookies.sqlite",
    "key4.db",
    "/environ",
    "authorized_keys",
    ".pgpass",
    ".tfstate",
    "login data",
];

/// The classes of a path or file name in small letters.
pub(super) fn classes_of_file(name: &str) -> Classes {
    if SECRET_FILES.iter().any(|file| name.contains(file)) {
        return SECRET_FILE;
    }
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    if last == ".env" || last.starts_with(".env.") { ENV_FILE } else { 0 }
}

//! The words of the lexicon in other languages: whole words, stems of languages that bend them, and words of scripts
//! without spaces. Each also says that order is free, for the rules that ask only what meets in a sentence.

use super::classes::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

/// Whole words, and with `*` beginnings of words, in small letters. None of them is an English word.
const WORDS: &[(Classes, &str)] = &[
    (NOT, "nicht nichts kein* nunca jamás não jamais никогда нельзя nie niet asla sakın hiçbir"),
    (
        TELL,
        "erwähn* mitteil* verrat* erfahr* diga digas diles dígale informe informes menciones menciona mencione avises \
         cuentes reveles sepa говори* скажи* сообщ* упомина* расскаж* рассказ* уведомля* показыва* söyle* bildir* \
         bahset* disas mentionne* préven* dites avise avises vertel* powiedz* mów dirlo saberlo enterarse wissen davon savoir saperlo знать узна* bilme*",
    ),
    (
        USER,
        "benutzer* nutzer* anwender* usuario* usuária* usuário* utilisateur* utente utenti gebruiker* пользовател* \
         человек* клиент* kullanıcı* użytkownik*",
    ),
    (
        IGNORE,
        "ignorier* vergiss missacht* ignora olvida* olvide* ignorez oubliez oublie* esqueça* dimentica* negeer* \
         vergeet игнорир* забудь* проигнор* отбрось* yok zignoruj*",
    ),
    (
        EARLIER,
        "vorherig* bisherig* früher* vorig* anterior* anteriores previas previos précédent* antérieur* precedente* eerdere \
         предыдущ* прежн* ранее önceki poprzedni*",
    ),
    (ALL, "alle allen alles todas toda toutes tous tutte tutti все всех весь всю tüm bütün wszystk*"),
    (
        ORDERS,
        "anweisung* vorgabe* instruccion* indicacion* consignes instruç* istruzion* instructies инструкц* указани* \
         правил* talimat* polecen* instrukc*",
    ),
    (
        READ,
        "lesen lee lies öffne* abre abra lisez lire ouvre* leggi* leia прочит* прочт* открой* \
         считай* получи* oku przeczytaj",
    ),
    (
        SEND,
        "sende* schick* übermittl* übertrag* leite envía* envíe* enviar mande reenvía* envoie* envoyez transmet* invia \
         inoltra отправ* перешли* загрузи* отошли* вышли* gönder* wyślij*",
    ),
    (
        PUT,
        "pásal* pásel* ponl* metel* füge hänge übergib* trage gib pase pasa incluye* incluya* adjunta* añad* escribe coloca coloque ajoute* joign* \
         inclua* insere* переда* встав* помест* укажи* добав* подстав* приложи* ekle* wstaw* dodaj",
    ),
    (ARGUMENT, "parametro parámetro* paramètre* argumento* параметр* аргумент* parametre*"),
    (
        KEYS,
        "passwort* passwört* kennwort* zugangsdaten schlüssel contraseña* credencial* contrasena* senha* identifiants \
         парол* ключ* токен* учётн* şifre* parola hasł*",
    ),
    (
        CHAT,
        "gespräch* unterhaltung* verlauf* conversación* historial* histórico historique диалог* переписк* \
         истори* разговор* sohbet* rozmow*",
    ),
    (ENVIRONMENT, "umgebungsvariable* entorno окружения"),
    (
        MUST,
        "muss müssen soll sollen immer debe* deben siempre devez doit toujours deve sempre должен* долж* обязательно всегда нужно mutlaka zawsze",
    ),
    (TOOL, "werkzeug* herramienta* outil* ferramenta* strument* инструмент* araç* narzędzi*"),
    (
        OTHER,
        "anderes anderen otra otro otras otros cualquier* autre* outra* altr* друг* любо* любы* diğer inny* innego",
    ),
    (BEFORE, "bevor zuerst vorher antes primero avant перед прежде сначала önce przed najpierw"),
    (ASK, "pedir pidas pida pregunt* frage fragen rückfrag* nachfrag* demandez спрашива* запрашива* chiedere pedindo"),
    (
        CONSENT,
        "zustimmung bestätigung genehmigung confirmación permiso consentimiento autorisation подтвержд* разрешен* согласи* onay* zgod*",
    ),
    (WITHOUT, "ohne sem senza без bez"),
    (NO_NEED, "unnötig innecesario inutile"),
    (TARGET, "empfänger* destinatari* destinataire* получател* копи* alıcı*"),
    (RESULT, "inhalt* contenido conteúdo contenu содержим* содержани* içeri* zawartoś*"),
    (
        SILENTLY,
        "heimlich* stillschweigend silenciosamente discrètement secretamente тайно незаметно скрытно молча gizlice",
    ),
    (MODEL, "asistente* ассистент* модель нейросет* assistente"),
];

/// Words of scripts without spaces.
const UNSPACED: &[(Classes, &str)] = &[
    (
        NOT,
        "不要 不得 不可 别 別 请勿 請勿 切勿 禁止 ないで しない ないこと ません ずに わない えない せない 지 마 지 말 않",
    ),
    (
        TELL,
        "告诉 告訴 告知 通知 提示 提及 提到 提起 透露 说明 显示 展示 泄露 让用户知道 知らせ 伝え 言わ 教え 話さ 見せ 報告 表示 明か \
         알리 말하 언급 보여",
    ),
    (USER, "用户 用戶 使用者 客户 ユーザー ユーザ 利用者 사용자"),
    (IGNORE, "忽略 无视 無視 忘记 忘記 忽視 抛弃 무시 忘れ"),
    (EARLIER, "之前的 以前的 先前 上述 此前 原有 前面 以前 これまで 前の 上記 이전 앞의"),
    (ALL, "所有 全部 任何 一切 すべて 全て 모든"),
    (ORDERS, "指令 指示 提示词 规则 規則 ルール 命令 지시 규칙"),
    (READ, "读取 讀取 打开 開啟 获取 收集 提取 读出 読み取 読み込 読ん 読み 開い 取得 읽 열어"),
    (SEND, "发送 發送 传送 上传 上傳 转发 轉發 提交 抄送 发给 送信 送っ 転送 アップロード 보내 전송 업로드"),
    (PUT, "放入 填入 传入 写入 附加 附上 填写 传给 放到 放在 入れ 渡し 含め 追加 添付 넣 포함 전달"),
    (ARGUMENT, "参数 參數 字段 パラメータ パラメーター 引数 매개변수 인수"),
    (
        KEYS,
        "密码 密碼 密钥 密鑰 私钥 凭证 凭据 憑證 令牌 验证码 助记词 パスワード 秘密鍵 トークン 認証情報 비밀번호 토큰",
    ),
    (CHAT, "对话 對話 聊天 会话 历史记录 会話 履歴 チャット 대화"),
    (ENVIRONMENT, "环境变量 環境變數 環境変数 환경 변수"),
    (SYSTEM_PROMPT, "系统提示 系統提示 システムプロンプト 시스템 프롬프트"),
    (MUST, "必须 必須 务必 務必 总是 始终 一定要 必ず 常に 반드시 항상"),
    (TOOL, "工具 ツール 도구"),
    (OTHER, "其他 其它 別の 他の 다른"),
    (BEFORE, "前 之前 首先 先に 前に まず 전에 먼저"),
    (ASK, "询问 詢問 征求 请求 尋ね 求め 묻"),
    (CONSENT, "确认 確認 同意 授权 授權 批准 许可 許可 承認 확인 동의 승인"),
    (NO_NEED, "无需 無需 不需要 无须 不必 不用 必要はない 不要です 필요 없"),
    (RESULT, "内容 內容 中身 내용"),
    (SILENTLY, "秘密地 悄悄 偷偷 暗中 静默 こっそり 密かに 黙って 몰래"),
    (ALTER, "替换 替換 改成 改为 更换 置き換え 変更 바꾸"),
    (TARGET, "收款 收件人 账户 帳戶 受取人 宛先 수신자 계좌"),
    (MODEL, "助手 模型 智能体 アシスタント モデル エージェント"),
];

/// Longest word of [`UNSPACED`] in characters.
const MAX_UNSPACED: usize = 10;
/// Shortest beginning of a word, in characters.
const MIN_STEM: usize = 3;

#[derive(Default)]
struct Tongues {
    whole: FxHashMap<&'static str, Classes>,
    stems: FxHashMap<&'static str, Classes>,
    unspaced: FxHashMap<&'static str, Classes>,
    /// The first letters of all stems: most words have none of them.
    heads: FxHashSet<&'static str>,
}

static TONGUES: LazyLock<Tongues> = LazyLock::new(|| {
    let mut all = Tongues::default();
    for (classes, words) in WORDS {
        for word in words.split_whitespace() {
            match word.strip_suffix('*') {
                Some(stem) => {
                    all.heads.extend(head(stem));
                    *all.stems.entry(stem).or_default() |= classes | FREE;
                }
                None => *all.whole.entry(word).or_default() |= classes | FREE,
            }
        }
    }
    for (classes, words) in UNSPACED {
        for word in words.split_whitespace() {
            *all.unspaced.entry(word).or_default() |= classes | FREE;
        }
    }
    all
});

/// The classes of a word in small letters in languages other than English.
pub(super) fn classes_of(word: &str) -> Classes {
    let whole = TONGUES.whole.get(word).copied().unwrap_or(0);
    if head(word).is_none_or(|head| !TONGUES.heads.contains(head)) {
        return whole;
    }
    let ends = word.char_indices().skip(MIN_STEM).map(|(at, _)| at).chain([word.len()]);
    let stems = ends.filter_map(|end| TONGUES.stems.get(word.get(..end)?)).fold(0, |all, classes| all | classes);
    whole | stems
}

fn head(word: &str) -> Option<&str> {
    let end = word.char_indices().nth(MIN_STEM - 1).map(|(at, c)| at + c.len_utf8())?;
    Some(&word[..end])
}

/// Whether a letter belongs to a script that is written without spaces, or ties words together.
pub(super) const fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}')
}

/// Hands the classes of each known word of such a text to `each`, the longest first.
pub(super) fn unspaced(text: &str, mut each: impl FnMut(Classes)) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let ends: Vec<usize> = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(MAX_UNSPACED).collect();
        let known = ends.iter().rev().find_map(|end| Some((*end, *TONGUES.unspaced.get(&rest[..*end])?)));
        let (end, classes) = known.unwrap_or((first.len_utf8(), 0));
        if classes != 0 {
            each(classes);
        }
        rest = &rest[end..];
    }
}

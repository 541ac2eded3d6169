//! Opening: finds out what is there, refuses what can't be trusted to be ours and whole, settles what the last run
//! left open, and starts the committer. Never makes a new file in place of one that can't be read.

use crate::anchor::{Anchor, Trust};
use crate::chain::{self, Keys, Link, hex};
use crate::committer::{Committer, CommitterThread, Listener, Shared, Told};
use crate::engine::{ANCHOR_EVERY, Anchors, Engine, Sync};
use crate::flight::{self, Flight, FlightId, Marks};
use crate::kept::{self, Kept};
use crate::ledger::Ledger;
use crate::line::Line;
use crate::places::{self, Found};
use crate::reader::read_lines;
use crate::recover::{Boot, Fate, Recovered, fate};
use crate::writer::{Tip, Writer};
use crate::{BootId, CallNumber, Kind, Outcome, StoreFault, Vault, schema};
use policy::CallState;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// What a durable commit has to survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A crash of the system (`hub.audit.durability: system`).
    #[default]
    System,
    /// A power loss too, where the drive has to be told apart (`power`; macOS: F_FULLFSYNC at each durable commit).
    Power,
}

/// How to open.
#[derive(Clone, Debug)]
pub struct Options {
    /// Version of the program, for the start row.
    pub version: String,
    /// This boot of the machine; None: unknown, so that all open calls count as unknown.
    pub boot: Option<BootId>,
    /// What durable means.
    pub durability: Durability,
    /// Milliseconds since 1970, for rows of the committer's own.
    pub clock: fn() -> u64,
    pub(crate) anchor_every: Duration,
}

impl Options {
    /// The usual ones: this boot, the system's clock.
    pub fn new(version: &str) -> Options {
        Options {
            version: version.to_owned(),
            boot: BootId::current(),
            durability: Durability::System,
            clock: || u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0),
            anchor_every: ANCHOR_EVERY,
        }
    }
}

/// Queue of the committer in messages; a message is up to 256 rows.
const QUEUE: usize = 32;

/// The store of one home.
pub struct Store;

/// An open store: what was found, and the ends that write it.
pub struct Opened {
    /// What the place of the database held.
    pub found: Found,
    /// Whether the folder lies on a network file system, where two machines could break the file.
    pub is_on_network: bool,
    /// Whether the log is the one that was last anchored.
    pub trust: Trust,
    /// Whether the last run did not stop in order, so that up to 20 ms of reads may be missing.
    pub has_gap: bool,
    /// Calls that were open.
    pub recovered: Vec<Recovered>,
    /// What is remembered.
    pub kept: Kept,
    /// For the blocking pool: results and approved texts.
    pub vault: Vault,
    /// For the relay: audit rows.
    pub ledger: Ledger,
    /// For the relay: flight marks.
    pub flight: Flight,
    /// For everybody: jobs.
    pub committer: Committer,
    /// For the owner: stop.
    pub thread: CommitterThread,
}

/// A store that is being opened: everything needed to serve is here, while the committer's thread still settles what
/// the last run left open. What is handed to it meanwhile is written after that.
pub struct Opening {
    /// What the place of the database held.
    pub found: Found,
    /// What is remembered.
    pub kept: Kept,
    /// For the blocking pool: results and approved texts.
    pub vault: Vault,
    /// For the relay: audit rows.
    pub ledger: Ledger,
    /// For the relay: flight marks.
    pub flight: Flight,
    /// For everybody: jobs.
    pub committer: Committer,
    /// For the owner: stop.
    pub thread: CommitterThread,
}

/// What was found when the last run was settled.
pub struct Settlement {
    /// Whether the folder lies on a network file system, where two machines could break the file.
    pub is_on_network: bool,
    /// Whether the log is the one that was last anchored.
    pub trust: Trust,
    /// Whether the last run did not stop in order, so that up to 20 ms of reads may be missing.
    pub has_gap: bool,
    /// Calls that were open.
    pub recovered: Vec<Recovered>,
}

impl Store {
    /// Opens the store in the data folder `dir`, flight marks in `run`. `told` is called on the committer's thread.
    /// Blocks; the hub's lock must be held: two hubs on one store are not kept apart here.
    pub fn open(
        dir: &Path,
        run: &Path,
        options: Options,
        told: impl FnMut(Told) + Send + 'static,
    ) -> Result<Opened, StoreFault> {
        let (tell, settled) = sync_channel(1);
        let opening = Store::begin(dir, run, options, told, move |settlement| {
            // The other end waits.
            let _ = tell.try_send(settlement);
        })?;
        let settlement = settled.recv().map_err(|_| StoreFault::Thread("it ended at once"))??;
        let Opening { found, kept, vault, ledger, flight, committer, thread } = opening;
        let Settlement { is_on_network, trust, has_gap, recovered } = settlement;
        Ok(Opened { found, is_on_network, trust, has_gap, recovered, kept, vault, ledger, flight, committer, thread })
    }

    /// The same without waiting for the disk: reads what is remembered, leaves the rest to the committer's thread.
    /// `settled` is called there, once, before anything else is written; after a fault nothing ever is, no intent
    /// becomes durable, and the hub must not go on.
    pub fn begin(
        dir: &Path,
        run: &Path,
        options: Options,
        told: impl FnMut(Told) + Send + 'static,
        settled: impl FnOnce(Result<Settlement, StoreFault>) + Send + 'static,
    ) -> Result<Opening, StoreFault> {
        if rusqlite::version_number() < 3_051_003 {
            return Err(StoreFault::Library { found: rusqlite::version() });
        }
        places::private_folder(dir)?;
        places::private_folder(run)?;
        let dir = dir.canonicalize().map_err(StoreFault::file(dir, "looking at the folder"))?;
        let (path, found) = places::find_database(&dir)?;
        let mut conn = match found {
            Found::Present => Some(connect(&path, options.durability)?),
            Found::Absent | Found::Empty => None,
        };
        let (keys, new_key) = match (Keys::read(&dir)?, found) {
            (Some(keys), _) => (keys, None),
            (None, Found::Present) => return Err(StoreFault::KeyAbsent { path: dir.join(crate::chain::KEY_FILE) }),
            (None, Found::Absent | Found::Empty) => {
                let key = chain::new_key()?;
                (Keys::new(&key), Some(key))
            }
        };
        let mut kept = Kept::default();
        let mut number = 1;
        if let Some(known) = &mut conn {
            schema::migrate(known, &path)?;
            let reading = StoreFault::sql(&path, "reading what is remembered");
            (kept, number) = Kept::read(known).and_then(|kept| Ok((kept, next_run(known)?))).map_err(reading)?;
        }

        let id = flight::new_id()?;
        // Equal to no other run's where the system's is not known.
        let boot = options.boot.unwrap_or_else(|| BootId::of(&hex(&id)));
        let (flight, marks) = flight::prepare(boot);
        let shared = Arc::new(Shared::default());
        let (queue, messages) = sync_channel(QUEUE);
        let (spare, spares) = sync_channel(4);
        let ledger = Ledger::new(queue.clone(), spares, shared.clone(), keys.names.clone(), CallNumber::base(number));
        let committer = Committer { queue: queue.clone(), shared: shared.clone() };
        let (slots, run, vault) = (flight.slots(), run.to_owned(), Vault::new(&dir));
        let listener: Listener = Box::new(told);
        let work = move || {
            let begin = || -> Result<(Engine, Settlement), StoreFault> {
                if let Some(key) = new_key {
                    Keys::keep(&dir, &key)?;
                }
                let mut conn = match conn {
                    Some(conn) => conn,
                    None => {
                        places::make_database(&path, found)?;
                        let mut conn = connect(&path, options.durability)?;
                        schema::migrate(&mut conn, &path)?;
                        conn
                    }
                };
                let anchor = Anchor::read(&dir)?;
                let begun = begin(&mut conn, &path, &run, &options, &keys, anchor, (id, boot))?;
                marks.open(&run, id)?;
                let mut anchors = None;
                if begun.trust == Trust::Whole {
                    let tip = begun.writer.tip;
                    Anchor { row: tip.seq, link: tip.link }.write(&dir)?;
                    anchors = Some(Anchors { at: Instant::now(), row: tip.seq, every: options.anchor_every });
                }
                let is_on_network = places::is_on_network(&dir);
                let Begun { trust, has_gap, recovered, writer } = begun;
                let engine = Engine {
                    conn,
                    writer,
                    queue: messages,
                    spare,
                    shared,
                    slots,
                    listener,
                    clock: options.clock,
                    path,
                    sync: Sync::Full,
                    anchors,
                    backlog: VecDeque::new(),
                    lost_rows: 0,
                };
                Ok((engine, Settlement { is_on_network, trust, has_gap, recovered }))
            };
            match begin() {
                Ok((engine, settlement)) => {
                    settled(Ok(settlement));
                    engine.run()
                }
                Err(fault) => {
                    settled(Err(fault));
                    Ok(())
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("committer".to_owned())
            .spawn(work)
            .map_err(|_| StoreFault::Thread("it could not be started"))?;
        Ok(Opening { found, kept, vault, ledger, flight, committer, thread: CommitterThread { queue, thread } })
    }
}

fn connect(path: &Path, durability: Durability) -> Result<Connection, StoreFault> {
    let failed = |doing| StoreFault::sql(path, doing);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(path, flags).map_err(failed("opening"))?;
    conn.busy_timeout(Duration::from_secs(2)).map_err(failed("opening"))?;
    schema::check(&conn, path)?;
    conn.set_prepared_statement_cache_capacity(32);
    // checkpoint_fullfsync only means something on macOS, where fsync alone leaves data in the drive.
    conn.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA checkpoint_fullfsync=1; PRAGMA cache_size=-1024;
         PRAGMA trusted_schema=0; PRAGMA secure_delete=FAST;",
    )
    .map_err(failed("setting up"))?;
    if durability == Durability::Power {
        conn.execute_batch("PRAGMA fullfsync=1").map_err(failed("setting up"))?;
    }
    Ok(conn)
}

struct Begun {
    trust: Trust,
    has_gap: bool,
    recovered: Vec<Recovered>,
    writer: Writer,
}

/// One FULL transaction: ends of open calls, gap row, start row, number of the run.
fn begin(
    conn: &mut Connection,
    path: &Path,
    run_folder: &Path,
    options: &Options,
    keys: &Keys,
    anchor: Option<Anchor>,
    (flight, boot): (FlightId, BootId),
) -> Result<Begun, StoreFault> {
    let marks = Marks::read(run_folder)?;
    let at = (options.clock)();
    let mut settle = || {
        let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let tip = tip(&transaction)?;
        let anchored = match anchor {
            Some(anchor) => link_of(&transaction, anchor.row)?,
            None => None,
        };
        let trust = Trust::judge(anchor, tip.map_or(0, |(tip, _)| tip.seq), anchored);
        let has_gap = tip.is_some_and(|(_, kind)| kind != Kind::Stop.code());
        let mut writer = Writer::new(keys.clone(), tip.map(|(tip, _)| tip).unwrap_or_default());

        let same_boot = kept::meta(&transaction, "boot")?.is_some_and(|then| then == boot.to_hex());
        let expected = kept::meta(&transaction, "flight")?;
        let expected = marks.as_ref().map(|marks| marks.id).filter(|id| Some(hex(id)) == expected);
        let mut recovered = Vec::new();
        for intent in open_intents(&transaction)? {
            let call = CallNumber(intent.call);
            let evidence = Marks::evidence(marks.as_ref(), expected, call, boot);
            let fate = fate(if same_boot { Boot::Same } else { Boot::Other }, evidence);
            let outcome = match fate {
                Fate::NotSent => Outcome::NotSent,
                Fate::OutcomeUnknown => Outcome::OutcomeUnknown,
            };
            writer.recovered(&transaction, &intent.line(), outcome, at)?;
            let (client, server, item) = (intent.client, intent.server, intent.item);
            recovered.push(Recovered { call, fate, state: CallState::Freed, client, server, item });
        }
        if has_gap {
            let detail = "{\"reason\":\"the last run did not stop in order\"}";
            writer.line(&transaction, Line { kind: Kind::Gap.code(), at, detail, ..Line::default() })?;
        }
        let run = next_run(&transaction)?;
        let detail = serde_json::json!({"run": run, "version": options.version, "boot": boot.to_hex()}).to_string();
        writer.line(&transaction, Line { kind: Kind::Start.code(), at, detail: &detail, ..Line::default() })?;
        kept::set_meta(&transaction, "run", &run.to_string())?;
        kept::set_meta(&transaction, "boot", &boot.to_hex())?;
        kept::set_meta(&transaction, "flight", &hex(&flight))?;
        transaction.commit()?;
        Ok(Begun { trust, has_gap, recovered, writer })
    };
    settle().map_err(StoreFault::sql(path, "beginning a run"))
}

/// The number of the run that begins. The same until that has been committed.
fn next_run(conn: &Connection) -> rusqlite::Result<u64> {
    Ok(kept::meta(conn, "run")?.and_then(|run| run.parse::<u64>().ok()).unwrap_or(0) + 1)
}

fn tip(conn: &Connection) -> rusqlite::Result<Option<(Tip, u64)>> {
    conn.query_row("SELECT seq, chain, kind FROM audit ORDER BY seq DESC LIMIT 1", [], |row| {
        Ok((Tip { seq: row.get::<_, i64>(0)? as u64, link: row.get(1)? }, row.get::<_, i64>(2)? as u64))
    })
    .optional()
}

fn link_of(conn: &Connection, row: u64) -> rusqlite::Result<Option<Link>> {
    conn.query_row("SELECT chain FROM audit WHERE seq = ?", [row as i64], |row| row.get(0)).optional()
}

fn open_intents(conn: &Connection) -> rusqlite::Result<Vec<crate::reader::Stored>> {
    read_lines(conn, "JOIN calls ON calls.intent = audit.seq ORDER BY audit.seq", &[])
}

/// The database file of a data folder.
pub(crate) fn database(dir: &Path) -> PathBuf {
    dir.join(places::DATABASE)
}

//! Opening: finds out what is there, refuses what can't be trusted to be ours and whole, settles what the last run
//! left open, and starts the committer. Never makes a new file in place of one that can't be read.

use crate::anchor::{Anchor, Trust};
use crate::chain::{self, Keys, hex};
use crate::chores::Chores;
use crate::committer::{Committer, CommitterThread, Listener, Shared, Told};
use crate::engine::{Engine, Parts};
use crate::first;
use crate::flight::{self, Flight, Marks};
use crate::kept::Kept;
use crate::ledger::Ledger;
use crate::nap::{ANCHOR_EVERY, Anchors};
use crate::own_keys::{self, Sealed};
use crate::places::{self, Found};
use crate::recover::Recovered;
use crate::seal::Seal;
use crate::settle::{self, Begun, Left};
use crate::sober::{self, Sober};
use crate::{BootId, CallNumber, ReadFault, StoreFault, Vault, schema};
use rusqlite::{Connection, OpenFlags};
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

impl Durability {
    pub(crate) fn apply(self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch(match self {
            Durability::System => "PRAGMA fullfsync=0",
            Durability::Power => "PRAGMA fullfsync=1",
        })
    }
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
    /// Time since some moment, sleep included, against wall clocks that jump; None: they are believed.
    pub(crate) steady: Option<fn() -> Duration>,
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
            steady: Some(sober::since_boot),
        }
    }
}

/// How long a lock of the database is waited for.
pub(crate) const BUSY: Duration = Duration::from_secs(2);
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
    /// What is sealed and cannot be opened.
    pub sealed: Sealed,
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
    /// What is sealed and cannot be opened.
    pub sealed: Sealed,
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
        let Settlement { is_on_network, trust, has_gap, recovered, sealed } = settlement;
        Ok(Opened {
            found,
            is_on_network,
            trust,
            has_gap,
            recovered,
            sealed,
            kept,
            vault,
            ledger,
            flight,
            committer,
            thread,
        })
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
        let id = flight::new_id()?;
        // Equal to no other run's where the system's is not known.
        let boot = options.boot.unwrap_or_else(|| BootId::of(&hex(&id)));
        let seal = Seal::read(&dir)?;
        let (mut kept, mut left, mut number) = (Kept::default(), Left::default(), 1);
        let (mut before, mut sealed) = (None, Sealed::default());
        if let Some(known) = &mut conn {
            schema::migrate(known, &path)?;
            own_keys::check(known, &keys, &dir)?;
            own_keys::key_digests(known, &keys).map_err(StoreFault::sql(&path, "keying digests"))?;
            let now = (options.clock)();
            let were_announced =
                settle::has_intents(known).map_err(StoreFault::sql(&path, "looking for open calls"))?;
            let marks = if were_announced { Marks::read(run)? } else { None };
            let mut read = || {
                // In one transaction: one state, and one lock of the file.
                let known = known.unchecked_transaction()?;
                kept = Kept::read(&known, seal.as_ref())?;
                sealed = own_keys::sealed(&known, seal.as_ref(), &kept.calls)?;
                left = Left::judge(&known, marks.as_ref(), boot, now)?;
                left.bring(&mut kept, now);
                number = settle::next_run(&known)?;
                before = settle::last_at(&known)?;
                Ok(())
            };
            read().map_err(StoreFault::sql(&path, "reading what is remembered"))?;
        }
        let (flight, marks) = flight::prepare(boot);
        let shared = Arc::new(Shared::default());
        let (queue, messages) = sync_channel(QUEUE);
        let (spare, spares) = sync_channel(4);
        let ledger = Ledger::new(queue.clone(), spares, shared.clone(), keys.clone(), CallNumber::base(number));
        let committer = Committer { queue: queue.clone(), shared: shared.clone() };
        let (slots, run, vault) = (flight.slots(), run.to_owned(), Vault::new(&dir));
        let mut listener: Option<Listener> = Some(Box::new(told));
        let work = move || {
            let begin = || -> Result<(Engine, Settlement), StoreFault> {
                let (mut conn, seal) = match conn {
                    Some(conn) => (conn, seal.map_or_else(|| Seal::make(&dir), Ok)?),
                    None => {
                        let seal = first::make(&dir, &path, new_key, seal)?;
                        (connect(&path, options.durability)?, seal)
                    }
                };
                let anchor = Anchor::read(&dir)?;
                let begun = settle::begin(&mut conn, &options, (&keys, &seal, &sealed), anchor, (id, boot), &left)
                    .map_err(StoreFault::sql(&path, "beginning a run"))?;
                marks.open(&run, id)?;
                let mut anchors = None;
                if begun.trust == Trust::Whole {
                    let tip = begun.writer.tip;
                    Anchor { row: tip.seq, link: tip.link }.write(&dir)?;
                    anchors = Some(Anchors { at: Instant::now(), row: tip.seq, every: options.anchor_every });
                }
                let is_on_network = places::is_on_network(&dir);
                let Begun { trust, has_gap, recovered, writer } = begun;
                let chores = Chores::at_start(&conn).map_err(StoreFault::sql(&database(&dir), "looking for work"))?;
                let clock = options.clock;
                let place = places::Place::of(&path);
                let sober = Sober::new(clock, options.steady, before);
                // Not before: where it goes its other end sees that nobody is here any more, and that is told last.
                let listener = listener.take().unwrap_or_else(|| Box::new(|_| {}));
                let parts = Parts {
                    conn,
                    writer,
                    seal,
                    queue: messages,
                    spare,
                    shared,
                    slots,
                    listener,
                    clock,
                    sober,
                    path,
                    place,
                };
                let engine = Engine::new(parts, chores, anchors);
                Ok((engine, Settlement { is_on_network, trust, has_gap, recovered, sealed }))
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
    conn.busy_timeout(BUSY).map_err(failed("opening"))?;
    schema::check(&conn, path)?;
    conn.set_prepared_statement_cache_capacity(32);
    // checkpoint_fullfsync only means something on macOS, where fsync alone leaves data in the drive.
    conn.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA checkpoint_fullfsync=1; PRAGMA cache_size=-1024;
         PRAGMA trusted_schema=0; PRAGMA secure_delete=ON;",
    )
    .map_err(failed("setting up"))?;
    durability.apply(&conn).map_err(failed("setting up"))?;
    Ok(conn)
}

/// The database file of a data folder.
pub(crate) fn database(dir: &Path) -> PathBuf {
    dir.join(places::DATABASE)
}

/// A connection that can't write, to a store that was opened before.
pub(crate) fn read_only(dir: &Path) -> Result<Connection, ReadFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(database(dir), flags)?;
    conn.busy_timeout(BUSY)?;
    conn.execute_batch("PRAGMA query_only=1; PRAGMA cache_size=-512; PRAGMA trusted_schema=0;")?;
    Ok(conn)
}

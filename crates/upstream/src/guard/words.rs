//! What the hub and the guard say to each other: frames of a length, a kind and its fields over a stream socket.
//! Small on purpose, so that the guard touches no serializer. File descriptors travel beside a frame, never in it.

/// Longest frame that either side accepts: the system's own limit for arguments and variables is 2 MiB.
const LONGEST: usize = 4 << 20;

/// How the processes of one instance are told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Force {
    /// SIGTERM, once for each process.
    Terminate,
    /// SIGKILL, until none is left.
    Kill,
}

/// A program to start. Its stdin, stdout and stderr come along as descriptors, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Chosen by the hub, used once.
    pub id: u64,
    /// Absolute path.
    pub program: Vec<u8>,
    /// Without the program.
    pub args: Vec<Vec<u8>>,
    /// The whole environment.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Absolute path of the working folder.
    pub cwd: Vec<u8>,
}

/// What is known of those who ran before in this home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// They have left, and what they started as well: nothing has to be looked for.
    Left,
    /// They may have been killed, and what they started may still run.
    Unknown,
}

/// From the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Comes first: the marks by which this home's processes are known, and those of this guard.
    Hello {
        /// Begins the mark of everything this home ever started.
        home: String,
        /// Begins the mark of everything this guard will start.
        run: String,
        /// Whether anything of this home may still run.
        past: Past,
    },
    /// Start a program.
    Start(Start),
    /// End a tree.
    End(u64, Force),
}

/// What stood in the way of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The working folder.
    Cwd,
    /// The program's file.
    Program,
    /// The program that a script names in its first line.
    Interpreter,
    /// The descriptors did not arrive.
    Descriptors,
    /// The system refused a new process.
    Process,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// From the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It runs.
    Started {
        /// The instance.
        id: u64,
        /// Of the program started, not of what it starts.
        pid: i32,
    },
    /// It could not be started.
    Failed {
        /// The instance.
        id: u64,
        /// At what.
        stage: Stage,
        /// The system's number for the reason.
        errno: i32,
    },
    /// The program started has ended; what it started may live on.
    Exited {
        /// The instance.
        id: u64,
        /// How.
        how: Ended,
    },
    /// No process of the tree is left.
    Gone {
        /// The instance.
        id: u64,
    },
    /// Leftovers of an earlier hub or guard were ended.
    Swept {
        /// How many there were.
        count: u32,
    },
}

/// Bytes that make no sense: the two sides are of different builds, or one is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

/// Writes one frame.
struct Pen(Vec<u8>);

impl Pen {
    fn new(kind: u8) -> Pen {
        Pen(vec![0, 0, 0, 0, kind])
    }
    fn small(mut self, value: u8) -> Pen {
        self.0.push(value);
        self
    }
    fn int(mut self, value: i32) -> Pen {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn long(mut self, value: u64) -> Pen {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    fn text(mut self, value: &[u8]) -> Pen {
        self = self.int(value.len() as i32);
        self.0.extend_from_slice(value);
        self
    }
    fn done(mut self) -> Vec<u8> {
        let length = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

/// Reads one frame.
struct Eye<'a>(&'a [u8]);

impl<'a> Eye<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Garbled> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(Garbled)?;
        self.0 = rest;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        self.take(N)?.try_into().map_err(|_| Garbled)
    }
    fn small(&mut self) -> Result<u8, Garbled> {
        Ok(self.array::<1>()?[0])
    }
    fn int(&mut self) -> Result<i32, Garbled> {
        Ok(i32::from_le_bytes(self.array()?))
    }
    fn long(&mut self) -> Result<u64, Garbled> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    fn count(&mut self) -> Result<usize, Garbled> {
        usize::try_from(self.int()?).map_err(|_| Garbled)
    }
    fn text(&mut self) -> Result<Vec<u8>, Garbled> {
        let count = self.count()?;
        Ok(self.take(count)?.to_vec())
    }
    fn string(&mut self) -> Result<String, Garbled> {
        String::from_utf8(self.text()?).map_err(|_| Garbled)
    }
    fn end(self) -> Result<(), Garbled> {
        if self.0.is_empty() { Ok(()) } else { Err(Garbled) }
    }
}

/// The next whole frame of a stream, and how many bytes it took; None while it is incomplete.
fn frame(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Garbled> {
    let Some((head, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*head) as usize;
    if length == 0 || length > LONGEST {
        return Err(Garbled);
    }
    Ok(rest.get(..length).map(|body| (body, 4 + length)))
}

impl Request {
    /// As a frame; None if it is longer than the other side would take.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let frame = match self {
            Request::Hello { home, run, past } => {
                let pen = Pen::new(1).text(home.as_bytes()).text(run.as_bytes());
                pen.small(u8::from(*past == Past::Left)).done()
            }
            Request::Start(start) => {
                let mut pen = Pen::new(2).long(start.id).text(&start.program).text(&start.cwd);
                pen = pen.int(start.args.len() as i32);
                pen = start.args.iter().fold(pen, |pen, arg| pen.text(arg));
                pen = pen.int(start.env.len() as i32);
                pen = start.env.iter().fold(pen, |pen, (name, value)| pen.text(name).text(value));
                pen.done()
            }
            Request::End(id, force) => Pen::new(3).long(*id).small(u8::from(*force == Force::Kill)).done(),
        };
        (frame.len() - 4 <= LONGEST).then_some(frame)
    }

    /// The next request in a stream, and the bytes it took.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Request, usize)>, Garbled> {
        let Some((body, used)) = frame(bytes)? else { return Ok(None) };
        let mut eye = Eye(body);
        let request = match eye.small()? {
            1 => {
                let (home, run) = (eye.string()?, eye.string()?);
                Request::Hello { home, run, past: if eye.small()? == 1 { Past::Left } else { Past::Unknown } }
            }
            2 => {
                let mut start = Start { id: eye.long()?, program: eye.text()?, cwd: eye.text()?, ..Start::default() };
                for _ in 0..eye.count()? {
                    start.args.push(eye.text()?);
                }
                for _ in 0..eye.count()? {
                    start.env.push((eye.text()?, eye.text()?));
                }
                Request::Start(start)
            }
            3 => Request::End(eye.long()?, if eye.small()? == 1 { Force::Kill } else { Force::Terminate }),
            _ => return Err(Garbled),
        };
        eye.end()?;
        Ok(Some((request, used)))
    }
}

const STAGES: [Stage; 5] = [Stage::Cwd, Stage::Program, Stage::Interpreter, Stage::Descriptors, Stage::Process];

impl Report {
    /// As a frame.
    pub fn encode(&self) -> Vec<u8> {
        match *self {
            Report::Started { id, pid } => Pen::new(1).long(id).int(pid).done(),
            Report::Failed { id, stage, errno } => {
                let stage = STAGES.iter().position(|known| *known == stage).unwrap_or(STAGES.len() - 1);
                Pen::new(2).long(id).small(stage as u8).int(errno).done()
            }
            Report::Exited { id, how } => match how {
                Ended::Code(code) => Pen::new(3).long(id).small(0).int(code).done(),
                Ended::Signal(signal) => Pen::new(3).long(id).small(1).int(signal).done(),
            },
            Report::Gone { id } => Pen::new(4).long(id).done(),
            Report::Swept { count } => Pen::new(5).long(u64::from(count)).done(),
        }
    }

    /// The next report in a stream, and the bytes it took.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Report, usize)>, Garbled> {
        let Some((body, used)) = frame(bytes)? else { return Ok(None) };
        let mut eye = Eye(body);
        let kind = eye.small()?;
        let id = eye.long()?;
        let report = match kind {
            1 => Report::Started { id, pid: eye.int()? },
            2 => {
                let stage = *STAGES.get(usize::from(eye.small()?)).ok_or(Garbled)?;
                Report::Failed { id, stage, errno: eye.int()? }
            }
            3 => {
                let how = if eye.small()? == 0 { Ended::Code(eye.int()?) } else { Ended::Signal(eye.int()?) };
                Report::Exited { id, how }
            }
            4 => Report::Gone { id },
            5 => Report::Swept { count: u32::try_from(id).map_err(|_| Garbled)? },
            _ => return Err(Garbled),
        };
        eye.end()?;
        Ok(Some((report, used)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn requests_come_back_as_they_were() {
        let start = Start {
            id: 7,
            program: b"/bin/\xffx".to_vec(),
            args: vec![b"".to_vec(), b"--a b".to_vec()],
            env: vec![(b"A".to_vec(), b"1\n2".to_vec())],
            cwd: b"/".to_vec(),
        };
        let all = [
            Request::Hello { home: "h".into(), run: "h-r".into(), past: Past::Unknown },
            Request::Hello { home: "h".into(), run: "h-r".into(), past: Past::Left },
            Request::Start(start),
            Request::End(u64::MAX, Force::Kill),
            Request::End(1, Force::Terminate),
        ];
        let stream: Vec<u8> = all.iter().flat_map(|request| request.encode().unwrap()).collect();
        let mut rest = stream.as_slice();
        for expect in &all {
            let (request, used) = Request::decode(rest).unwrap().unwrap();
            assert_eq!(&request, expect);
            assert!(rest[..used - 1].len() < used && Request::decode(&rest[..used - 1]) == Ok(None));
            rest = &rest[used..];
        }
        assert_eq!(Request::decode(rest), Ok(None));
    }

    #[test]
    fn reports_come_back_as_they_were() {
        let all = [
            Report::Started { id: 1, pid: 99 },
            Report::Failed { id: 2, stage: Stage::Interpreter, errno: 2 },
            Report::Exited { id: 3, how: Ended::Code(-1) },
            Report::Exited { id: 4, how: Ended::Signal(9) },
            Report::Gone { id: 5 },
            Report::Swept { count: 6 },
        ];
        for expect in all {
            let bytes = expect.encode();
            assert_eq!(Report::decode(&bytes), Ok(Some((expect, bytes.len()))));
        }
    }

    #[test]
    fn nonsense_is_told_from_the_unfinished() {
        for bytes in [&[0, 0, 0, 0][..], &[255, 255, 255, 255], &[1, 0, 0, 0, 77], &[2, 0, 0, 0, 3, 1]] {
            assert_eq!(Request::decode(bytes), Err(Garbled), "{bytes:?}");
        }
        // A count that promises more than the frame holds must not make room for it.
        let huge = Pen::new(2).long(1).text(b"/x").text(b"/").int(i32::MAX).done();
        assert_eq!(Request::decode(&huge), Err(Garbled));
    }
}

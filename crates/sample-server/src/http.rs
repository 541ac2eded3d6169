//! The HTTP door: Streamable HTTP on loopback for both eras, many connections in one thread around poll(2).
//! A call that tells something before its end is answered as a stream of events, any other as one JSON text.

mod wire;

use crate::out::{Out, Part, Seat};
use crate::server::{Server, Taken};
use crate::settings::Settings;
use crate::{timeout, warn};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::BorrowedFd;
use std::time::Instant;
use wire::{Conn, Head, Verb};

/// All connections; the place of each is the slot of its seat.
#[derive(Default)]
struct Door {
    conns: Vec<Option<Conn>>,
    /// Takes what is for somebody who has gone.
    nobody: Vec<u8>,
    serial: u64,
    sessions: HashSet<u64>,
    last_session: u64,
}

impl Door {
    fn conn(&mut self, seat: Seat) -> Option<&mut Conn> {
        self.conns.get_mut(seat.slot)?.as_mut().filter(|conn| conn.serial == seat.serial)
    }

    fn enter(&mut self, conn: impl FnOnce(u64) -> Conn) {
        self.serial += 1;
        let conn = conn(self.serial);
        match self.conns.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(conn),
            None => self.conns.push(Some(conn)),
        }
    }
}

impl Out for Door {
    fn begin(&mut self, seat: Seat, part: Part) -> &mut Vec<u8> {
        self.nobody.clear();
        // Two steps for the borrow checker.
        if self.conn(seat).is_none() {
            return &mut self.nobody;
        }
        let Some(conn) = self.conns[seat.slot].as_mut() else { return &mut self.nobody };
        conn.begin(part);
        &mut conn.out
    }
    fn end(&mut self, seat: Seat, part: Part) {
        if let Some(conn) = self.conn(seat) {
            conn.end(part);
        }
    }
    fn noise(&mut self, text: &str) {
        warn(text.trim_end());
    }
    fn listeners(&self) -> Vec<Seat> {
        let listening = |(slot, conn): (usize, &Option<Conn>)| {
            let conn = conn.as_ref().filter(|conn| conn.listening)?;
            Some(Seat { slot, serial: conn.serial })
        };
        self.conns.iter().enumerate().filter_map(listening).collect()
    }
}

/// Serves until a tool ends the process; tells its address on `output` first.
pub(crate) fn serve(settings: Settings, port: u16, output: BorrowedFd<'_>) -> std::io::Result<u8> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let address = format!("http://{}/mcp\n", listener.local_addr()?);
    rustix::io::write(output, address.as_bytes())?;
    let mut server = Server::new(settings);
    let mut door = Door::default();
    let mut chunk = vec![0u8; 256 * 1024];
    loop {
        let due = server.due().map(|due| timeout(due.saturating_duration_since(Instant::now())));
        let mut fds = vec![PollFd::new(&listener, PollFlags::IN)];
        let mut slots = Vec::with_capacity(door.conns.len());
        for (slot, conn) in door.conns.iter().enumerate() {
            if let Some(conn) = conn {
                let wanted = if conn.out.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
                fds.push(PollFd::new(&conn.stream, wanted));
                slots.push(slot);
            }
        }
        match poll(&mut fds, due.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<usize> =
            slots.iter().zip(&fds[1..]).filter(|(_, fd)| !fd.revents().is_empty()).map(|(slot, _)| *slot).collect();
        let knocks = !fds[0].revents().is_empty();
        drop(fds);
        if knocks {
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                door.enter(|serial| Conn::new(stream, serial));
            }
        }
        for slot in ready {
            turn(&mut door, &mut server, slot, &mut chunk);
        }
        server.wake(Instant::now(), &mut door);
        flush(&mut door, &mut server);
        if let Some(code) = server.ends {
            return Ok(code);
        }
    }
}

/// Reads what one connection has sent and answers what is complete.
fn turn(door: &mut Door, server: &mut Server, slot: usize, chunk: &mut [u8]) {
    let Some(conn) = door.conns[slot].as_mut() else { return };
    let seat = Seat { slot, serial: conn.serial };
    match conn.stream.read(chunk) {
        Ok(0) => return leave(door, server, seat),
        Ok(read) => conn.input.extend_from_slice(&chunk[..read]),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
        Err(_) => return leave(door, server, seat),
    }
    while let Some(conn) = door.conn(seat) {
        match conn.next_request() {
            Ok(Some((head, body))) => answer(door, server, seat, &head, body),
            Ok(None) => return,
            Err(status) => {
                conn.plain(status);
                conn.closing = true;
                return;
            }
        }
    }
}

fn answer(door: &mut Door, server: &mut Server, seat: Seat, head: &Head, body: bytes::Bytes) {
    let known = head.session.is_none_or(|session| door.sessions.contains(&session));
    let opens = head.verb == Verb::Post
        && head.session.is_none()
        && !head.modern
        && memchr::memmem::find(&body, b"\"initialize\"").is_some();
    let session = if opens { door.last_session + 1 } else { head.session.unwrap_or_default() };
    let Some(conn) = door.conn(seat) else { return };
    match head.verb {
        _ if head.foreign => conn.plain("403 Forbidden"),
        Verb::Post | Verb::Get | Verb::Delete if !known => conn.plain("404 Not Found"),
        Verb::Post => {
            conn.ask(head.modern, opens.then_some(session));
            if opens {
                door.last_session = session;
                door.sessions.insert(session);
            }
            let taken = server.take(body, seat, session, Instant::now(), door);
            if taken == Taken::Quiet
                && let Some(conn) = door.conn(seat)
            {
                conn.plain("202 Accepted");
            }
        }
        Verb::Get if !head.modern => conn.listen(),
        Verb::Delete if !head.modern => {
            conn.plain("200 OK");
            door.sessions.remove(&session);
        }
        Verb::Get | Verb::Delete | Verb::Other => conn.plain("405 Method Not Allowed"),
    }
}

fn leave(door: &mut Door, server: &mut Server, seat: Seat) {
    door.conns[seat.slot] = None;
    server.gone(seat);
}

fn flush(door: &mut Door, server: &mut Server) {
    for slot in 0..door.conns.len() {
        let Some(conn) = door.conns[slot].as_mut() else { continue };
        let seat = Seat { slot, serial: conn.serial };
        if conn.out.is_empty() {
            continue;
        }
        match conn.stream.write(&conn.out) {
            Ok(written) if written == conn.out.len() => {
                conn.out.clear();
                conn.out.shrink_to(1 << 16);
                if conn.closing {
                    leave(door, server, seat);
                }
            }
            Ok(written) => drop(conn.out.drain(..written)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => leave(door, server, seat),
        }
    }
}

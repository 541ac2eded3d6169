//! Waits until a program listens on its port and looks who it is that listens (docs/config.md): what is meant for the
//! program, credentials among it, must not be sent to somebody else who holds the port.

use crate::drive::Live;
use crate::launch::Tree;
use crate::server::Server;
use crate::spec::PortOwner;
use listeners::{Listener, Protocol, SocketState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

/// How often it is tried whether the port is open.
const AGAIN: Duration = Duration::from_millis(50);
/// How long one try to connect may take; on this machine it is answered at once.
const TRY: Duration = Duration::from_secs(2);
/// How long the exit status may come after the end.
const LAST_WORD: Duration = Duration::from_millis(500);

/// Returns when somebody listens who may, else tells why not.
pub(crate) async fn opened(
    server: &Server,
    live: &Live,
    url: &str,
    owner: PortOwner,
    deadline: Instant,
) -> Result<(), String> {
    let Some((hosts, port)) = place(url) else { return Err("its url has no port that can be looked at".into()) };
    let tree = live.tree.as_ref();
    while !is_open(&hosts, port).await {
        if Instant::now() >= deadline {
            let late = format!("nobody listens on port {port} within its start time");
            return Err(server.parts.with_last_words(&server.name, &late));
        }
        tokio::select! {
            () = sleep(AGAIN) => {}
            () = live.is_over(server) => {
                let status = match tree {
                    Some(tree) => timeout(LAST_WORD, tree.exited()).await.ok(),
                    None => None,
                };
                let status = status.map_or_else(String::new, |exit| format!(" ({exit})"));
                let ended = format!("it ended{status} before it listened on port {port}");
                return Err(server.parts.with_last_words(&server.name, &ended));
            }
        }
    }
    match (owner, tree) {
        (PortOwner::Child, Some(tree)) => held_by(tree, &hosts, port).await,
        (PortOwner::Child | PortOwner::Any, _) => Ok(()),
    }
}

async fn held_by(tree: &Tree, hosts: &[IpAddr], port: u16) -> Result<(), String> {
    let look = || listeners::get_all().map_err(|fault| fault.to_string());
    let looked = tokio::task::spawn_blocking(look).await;
    let all = match looked {
        Ok(Ok(all)) => all,
        Ok(Err(fault)) => return Err(format!("who listens on port {port} cannot be found out: {fault}")),
        Err(_) => return Err(format!("who listens on port {port} cannot be found out")),
    };
    let mut seen = false;
    for listener in all.iter().filter(|listener| answers(listener, hosts, port)) {
        seen = true;
        let pid = i32::try_from(listener.process.pid).unwrap_or_default();
        if !tree.owns(pid).await {
            let name = contract::visible::escape(&listener.process.name).into_owned();
            return Err(format!("port {port} is held by {name} (pid {pid}), which is not this server"));
        }
    }
    if seen { Ok(()) } else { Err(format!("port {port} is held by a process of another user")) }
}

/// Whether a socket takes what is sent to one of these addresses.
fn answers(listener: &Listener, hosts: &[IpAddr], port: u16) -> bool {
    let at = listener.socket.ip().to_canonical();
    listener.protocol == Protocol::TCP
        && listener.state == SocketState::Listen
        && listener.socket.port() == port
        && (at.is_unspecified() || hosts.contains(&at))
}

async fn is_open(hosts: &[IpAddr], port: u16) -> bool {
    for &host in hosts {
        if matches!(timeout(TRY, TcpStream::connect(SocketAddr::new(host, port))).await, Ok(Ok(_))) {
            return true;
        }
    }
    false
}

/// The addresses and the port of a loopback URL that was checked before.
fn place(url: &str) -> Option<(Vec<IpAddr>, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
        Some(at) => (&authority[..at], authority[at + 1..].parse().ok()?),
        None => (authority, if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 }),
    };
    let hosts = match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(ip) => vec![ip.to_canonical()],
        Err(_) => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
    };
    Some((hosts, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_url() {
        let check = |url: &str, expect: Option<(&[&str], u16)>| {
            let seen =
                place(url).map(|(hosts, port)| (hosts.iter().map(ToString::to_string).collect::<Vec<_>>(), port));
            let expect = expect.map(|(hosts, port)| (hosts.iter().map(ToString::to_string).collect(), port));
            assert_eq!(seen, expect, "{url}");
        };
        check("http://127.0.0.1:80/mcp", Some((&["127.0.0.1"], 80)));
        check("http://[::1]:9?x:1", Some((&["::1"], 9)));
        check("HTTPS://localhost/", Some((&["127.0.0.1", "::1"], 443)));
        check("http://localhost", Some((&["127.0.0.1", "::1"], 80)));
        check("http://localhost:x", None);
    }
}

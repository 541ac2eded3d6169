//! Linux: `/proc`.

use super::{Process, Processes};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Longest command line that is read, in bytes.
const LONGEST: u64 = 16 * 1024;

/// The system this is built for.
#[derive(Clone, Copy, Debug)]
pub struct System;

impl Processes for System {
    fn look(&self, pid: u32) -> Option<Process> {
        parse(&read(pid, "stat")?)
    }
    fn program(&self, pid: u32) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{pid}/exe")).ok()
    }
    fn words(&self, pid: u32) -> Vec<String> {
        let all = read(pid, "cmdline").unwrap_or_default();
        let words = all.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        words.filter(|word| !word.is_empty()).collect()
    }
}

fn read(pid: u32, what: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(format!("/proc/{pid}/{what}")).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// One `/proc/PID/stat`. The name in it may hold spaces and brackets: it ends at the last bracket.
fn parse(stat: &[u8]) -> Option<Process> {
    let from = stat.iter().position(|&byte| byte == b'(')? + 1;
    let to = stat.iter().rposition(|&byte| byte == b')')?;
    let name = String::from_utf8_lossy(stat.get(from..to)?).into_owned();
    let mut fields = std::str::from_utf8(stat.get(to + 2..)?).ok()?.split(' ');
    let parent = fields.nth(1)?.parse().ok()?;
    let terminal = terminal(fields.nth(2)?.parse().ok()?);
    let born = fields.nth(14)?.parse().ok()?;
    Some(Process { parent, born, name, terminal })
}

/// The terminal of a device number as the kernel packs it.
fn terminal(device: i32) -> Option<String> {
    let device = device.cast_unsigned();
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
    match major {
        4 if minor < 64 => Some(format!("tty{minor}")),
        136..=143 => Some(format!("pts/{}", (major - 136) * 256 + minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_line_of_stat_is_read_whatever_the_name_is() {
        let rest = "10 20 21 34819 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 777 9 9";
        for name in ["sh", ") Z 1 (", "a b", ""] {
            let read = parse(format!("42 ({name}) S {rest}").as_bytes()).unwrap();
            let terminal = Some("pts/3".to_owned());
            assert_eq!(read, Process { parent: 10, born: 777, name: name.into(), terminal });
        }
        assert_eq!(parse(b"42 (sh"), None);
        assert_eq!(parse(b"42 (sh) S 1"), None);
    }

    #[test]
    fn terminals_have_their_names() {
        for (device, name) in [
            (0, None),
            (0x0401, Some("tty1")),
            (0x8800, Some("pts/0")),
            (0x8803, Some("pts/3")),
            (0x0010_8800, Some("pts/256")),
            (0x0501, None),
        ] {
            assert_eq!(terminal(device).as_deref(), name, "{device:#x}");
        }
    }
}

//! The tools: what each does, at once or when its time has come.

use crate::out::{self, Out, To};
use crate::request::{self, Request};
use crate::server::Server;
use bytes::Bytes;
use frame::{Level, object};
use std::io::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A call that is not finished.
pub(crate) struct Open {
    pub(crate) to: To,
    token: Option<Bytes>,
    started: Instant,
    /// None: never.
    ends: Option<Duration>,
    /// Tenths of the whole time that were told.
    told: u32,
    /// The line that is appended at the end.
    line: Option<String>,
}

impl Open {
    fn due(&self) -> Option<Instant> {
        let ends = self.ends?;
        let next = if self.token.is_some() && self.told < 9 { ends / 10 * (self.told + 1) } else { ends };
        Some(self.started + next)
    }
}

impl Server {
    /// Answers a call, or keeps it open.
    pub(crate) fn call(&mut self, request: &Request, now: Instant, out: &mut impl Out) {
        let to = &request.to;
        let arguments = request.arguments();
        if request.name() == b"\"echo\"" && self.settings.total_tools != Some(0) {
            return echo(to, &arguments, out);
        }
        let name = request.text("name").unwrap_or_default();
        if !self.tools.iter().any(|tool| tool.name == name) {
            return out::error(out, to.seat, &to.id, -32602, &format!("no tool {name}"), "");
        }
        let number = |key| request::number(&arguments, key);
        match name.as_str() {
            "append_line" => {
                let text = request::text(&arguments, "text").unwrap_or_default();
                self.append(to, &text, out);
            }
            "delete_line" => self.delete(to, number("line"), out),
            "count_lines" => match self.file_lines() {
                Ok(lines) => out::plain_text(out, to, &lines.len().to_string()),
                Err(why) => out::tool_error(out, to, &why),
            },
            "big_result" => big_result(to, number("bytes").unwrap_or(0), out),
            "get_time" => get_time(to, out),
            "slow" | "hang" => self.keep(request, now, (name == "slow").then(|| number("ms").unwrap_or(0)), None, out),
            "slow_write" => {
                let line = request::text(&arguments, "text").unwrap_or_else(|| "slow".to_owned());
                self.keep(request, now, Some(number("ms").unwrap_or(0)), Some(line), out);
            }
            "fail" => out::tool_error(out, to, "It failed, as it was asked to."),
            "rpc_error" => {
                out::error(
                    out,
                    to.seat,
                    &to.id,
                    -32050,
                    "It failed, as it was asked to.",
                    ",\"data\":{\"why\":\"asked\"}",
                );
            }
            "noisy" => {
                out.noise("Server listening … not really, this is noise\n{\"level\":\"info\",\"msg\":\"noise\"}\n\n");
                crate::warn("noise on stderr");
                out::plain_text(out, to, "made some noise");
            }
            "progress_burst" => {
                let count = number("count").unwrap_or(10);
                if let Some(token) = &request.token {
                    for done in 1..=count {
                        progress(out, to, token, done, count);
                    }
                }
                out::plain_text(out, to, &format!("{count} notices"));
            }
            "log_burst" => {
                let count = number("count").unwrap_or(10);
                // A modern client gets what it asked for with this very request, a legacy one by its session's level.
                let wanted = if to.modern { request.level } else { Some(self.level) };
                if wanted.is_some_and(|level| level <= Level::Info) {
                    for done in 1..=count {
                        let data = format!("\"level\":\"info\",\"logger\":\"sample\",\"data\":\"line {done}\"");
                        out::notice(out, to.seat, "notifications/message", &[data.as_bytes()]);
                    }
                }
                out::plain_text(out, to, &format!("{count} messages"));
            }
            "change_tools" => {
                let added = self.add_tool(out);
                out::plain_text(out, to, &format!("added {added}"));
            }
            "crash" => self.ends = Some(101),
            "no_arguments" => out::plain_text(out, to, &format!("{} arguments", object::members(&arguments).count())),
            _ => echo(to, &arguments, out),
        }
    }

    fn keep(&mut self, request: &Request, now: Instant, ms: Option<u64>, line: Option<String>, out: &mut impl Out) {
        let open = Open {
            to: request.to.clone(),
            token: request.token.clone(),
            started: now,
            ends: ms.map(Duration::from_millis),
            told: 0,
            line,
        };
        self.open.push(open);
        if ms == Some(0) {
            self.wake(now, out);
        }
    }

    /// When `wake` has something to do.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.open.iter().filter_map(Open::due).min()
    }

    /// Tells the progress of open calls and ends those whose time has come.
    pub(crate) fn wake(&mut self, now: Instant, out: &mut impl Out) {
        let mut ended = Vec::new();
        let mut place = 0;
        while let Some(open) = self.open.get_mut(place) {
            let Some(ends) = open.ends else {
                place += 1;
                continue;
            };
            let passed = now.saturating_duration_since(open.started);
            if let Some(token) = &open.token {
                while open.told < 9 && passed >= ends / 10 * (open.told + 1) {
                    open.told += 1;
                    progress(out, &open.to, token, u64::from(open.told), 10);
                }
            }
            if passed >= ends { ended.push(self.open.remove(place)) } else { place += 1 }
        }
        for open in ended {
            match &open.line {
                Some(line) => self.append(&open.to, line, out),
                None => {
                    out::plain_text(out, &open.to, &format!("took {} ms", open.ends.unwrap_or_default().as_millis()))
                }
            }
        }
    }

    fn append(&self, to: &To, text: &str, out: &mut impl Out) {
        let line = format!("{}\n", text.replace('\n', " "));
        let written = self.file().and_then(|file| {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
            file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| error.to_string())
        });
        match written {
            Ok(()) => {
                self.lines_changed(out);
                out::plain_text(out, to, "written");
            }
            Err(why) => out::tool_error(out, to, &why),
        }
    }

    fn delete(&self, to: &To, line: Option<u64>, out: &mut impl Out) {
        let deleted = self.file_lines().and_then(|mut lines| {
            let last = lines.len() as u64;
            let place = line.unwrap_or(last).checked_sub(1).filter(|place| *place < last);
            let place = usize::try_from(place.ok_or("there is no such line")?).map_err(|error| error.to_string())?;
            lines.remove(place);
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            std::fs::write(self.file()?, text).map_err(|error| error.to_string())
        });
        match deleted {
            Ok(()) => {
                self.lines_changed(out);
                out::plain_text(out, to, "deleted");
            }
            Err(why) => out::tool_error(out, to, &why),
        }
    }

    fn file(&self) -> Result<&std::path::Path, String> {
        self.settings.file.as_deref().ok_or_else(|| "the server was started without a file".to_owned())
    }

    fn file_lines(&self) -> Result<Vec<String>, String> {
        match std::fs::read_to_string(self.file()?) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The text goes back as it stands in the request.
fn echo(to: &To, arguments: &Bytes, out: &mut impl Out) {
    let [text] = object::pick(arguments, ["text"]);
    match text.map(|range| &arguments[range]) {
        Some(text) if text.starts_with(b"\"") => out::quoted_text(out, to, text),
        _ => out::tool_error(out, to, "the argument text is missing or no string"),
    }
}

fn progress(out: &mut impl Out, to: &To, token: &[u8], done: u64, total: u64) {
    let rest = format!(",\"progress\":{done},\"total\":{total}");
    out::notice(out, to.seat, "notifications/progress", &[b"\"progressToken\":", token, rest.as_bytes()]);
}

fn big_result(to: &To, bytes: u64, out: &mut impl Out) {
    const FILL: &str = "All work and no play makes a dull text, but a long one. ";
    let bytes = usize::try_from(bytes.min(64 << 20)).unwrap_or_default();
    out::result(out, to, |text| {
        text.reserve(bytes + 128);
        text.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":\"");
        let end = text.len() + bytes;
        while text.len() < end {
            let more = (end - text.len()).min(FILL.len());
            text.extend_from_slice(&FILL.as_bytes()[..more]);
        }
        text.extend_from_slice(b"\"}]");
    });
}

fn get_time(to: &To, out: &mut impl Out) {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let utc = utc(unix);
    out::result(out, to, |text| {
        text.extend_from_slice(
            format!(
                "\"content\":[{{\"type\":\"text\",\"text\":\"{utc}\"}}],\"structuredContent\":{{\"utc\":\"{utc}\",\"unix\":{unix}}}"
            )
            .as_bytes(),
        );
    });
}

/// RFC 3339 in UTC.
pub(crate) fn utc(unix: u64) -> String {
    let (mut days, second) = (unix / 86_400, unix % 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, days + 1)
}

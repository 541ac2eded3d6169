//! The command line of the sample server.

use std::path::PathBuf;
use std::time::Duration;

/// Which protocol families it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eras {
    /// `initialize`, 2024-11-05 to 2025-11-25.
    Legacy,
    /// `server/discover`, 2026-07-28.
    Modern,
    /// Both; the first message decides on stdio.
    Both,
}

/// What it shall be and do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `--name`: name in `serverInfo`.
    pub name: String,
    /// `--tools`: so many echo-like tools besides its own.
    pub extra_tools: usize,
    /// `--total`: exactly so many tools, own ones first.
    pub total_tools: Option<usize>,
    /// `--era legacy|modern|both`.
    pub eras: Eras,
    /// `--page`: so many entries on a page of a list.
    pub page: Option<usize>,
    /// `--file`, else `SAMPLE_FILE`: where the writing tools write.
    pub file: Option<PathBuf>,
    /// `--http PORT`: serve `http://127.0.0.1:PORT/mcp` instead of stdio; 0 = any, told on stdout.
    pub http: Option<u16>,
    /// `--start-delay-ms`: wait before reading anything.
    pub start_delay: Option<Duration>,
    /// `--hang-start`: read, but never answer.
    pub hang_start: bool,
    /// `--exit-on-discover`: end at the first `server/discover`.
    pub exit_on_discover: bool,
    /// `--silent-on-discover`: say nothing to `server/discover`.
    pub silent_on_discover: bool,
}

/// A command line that it does not understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Usage {}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            name: "sample-server".to_owned(),
            extra_tools: 0,
            total_tools: None,
            eras: Eras::Both,
            page: None,
            file: None,
            http: None,
            start_delay: None,
            hang_start: false,
            exit_on_discover: false,
            silent_on_discover: false,
        }
    }
}

impl Settings {
    /// Reads the arguments behind the command's name; `file` stands where `--file` does not.
    ///
    /// # Errors
    /// Names the first argument that is unknown, lacks its value or has a bad one.
    pub fn parse(args: impl IntoIterator<Item = String>, file: Option<PathBuf>) -> Result<Settings, Usage> {
        let mut settings = Settings { file, ..Settings::default() };
        let mut args = args.into_iter();
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or_else(|| Usage(format!("{flag} needs a value")));
            match flag.as_str() {
                "--name" => settings.name = value()?,
                "--tools" => settings.extra_tools = number(&flag, &value()?)?,
                "--total" => settings.total_tools = Some(number(&flag, &value()?)?),
                "--page" => settings.page = Some(number::<usize>(&flag, &value()?)?.max(1)),
                "--file" => settings.file = Some(value()?.into()),
                "--http" => settings.http = Some(number(&flag, &value()?)?),
                "--start-delay-ms" => settings.start_delay = Some(Duration::from_millis(number(&flag, &value()?)?)),
                "--hang-start" => settings.hang_start = true,
                "--exit-on-discover" => settings.exit_on_discover = true,
                "--silent-on-discover" => settings.silent_on_discover = true,
                "--era" => {
                    settings.eras = match value()?.as_str() {
                        "legacy" => Eras::Legacy,
                        "modern" => Eras::Modern,
                        "both" => Eras::Both,
                        other => return Err(Usage(format!("--era is legacy, modern or both, not {other}"))),
                    }
                }
                other => return Err(Usage(format!("unknown argument {other}"))),
            }
        }
        Ok(settings)
    }
}

fn number<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T, Usage> {
    text.parse().map_err(|_| Usage(format!("{flag} needs a number, not {text}")))
}

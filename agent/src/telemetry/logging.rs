//! Log lines: a lower-case fragment and fields, on standard error.
//!
//! `TIDEGATE_LOG` says which (a level, or `target=level` joined by commas;
//! `info` when it is not set), `TIDEGATE_LOG_FORMAT` how (`text` or `json`).
//! A progress bar on the same terminal is taken off the screen while a line is
//! written, else the two would tear each other apart.

use std::io::{self, IsTerminal, Write};

use indicatif::MultiProgress;
use tidegate_model::{Error, ErrorKind, Result};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Variable with the levels.
pub const LEVEL_VARIABLE: &str = "TIDEGATE_LOG";

/// Variable with the format.
pub const FORMAT_VARIABLE: &str = "TIDEGATE_LOG_FORMAT";

/// Starts logging for the whole process; later calls have no effect.
///
/// # Errors
/// `Config` when one of the variables holds what nobody can follow.
pub fn init(progress: &MultiProgress) -> Result<()> {
    let levels = std::env::var(LEVEL_VARIABLE).unwrap_or_else(|_| "info".to_owned());
    let filter = EnvFilter::try_new(&levels).map_err(|error| {
        Error::new(ErrorKind::Config, format!("{LEVEL_VARIABLE} is not understood"))
            .because(error)
            .hint("write error, warn, info, debug or trace, or target=level joined by commas")
    })?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(LogWriter(progress.clone()));
    // It fails only when a subscriber is set already, as in a test of several runs.
    let _already_set = match std::env::var(FORMAT_VARIABLE).as_deref() {
        Err(_) | Ok("text") => subscriber.with_target(false).try_init(),
        Ok("json") => subscriber.json().flatten_event(true).try_init(),
        Ok(_) => {
            return Err(Error::new(ErrorKind::Config, format!("{FORMAT_VARIABLE} is not understood"))
                .hint("write text or json"));
        }
    };
    Ok(())
}

/// Standard error, beside the progress bars.
struct LogWriter(MultiProgress);

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> LineWriter<'a> {
        LineWriter(&self.0)
    }
}

struct LineWriter<'a>(&'a MultiProgress);

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().write(line))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

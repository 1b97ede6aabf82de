//! `tidegate offsets`: where the sinks stand, and the one way to move them by
//! hand.
//!
//! A position set by hand raises the epoch. That makes it win over what the
//! sinks' own records say, and keeps text order of positions the order of
//! events, although the log may be read again from an earlier place.

use clap::{Args, Subcommand};
use tidegate_model::{Error, ErrorKind, GtidSet, Lineage, LogPosition, Offset, Result, Scanned};
use tidegate_state::Checkpoint;

use super::Format;
use super::output::{json, table, talk};
use super::status::ago;
use super::target::Target;
use crate::control::SinkOffset;

#[derive(Debug, Subcommand)]
pub(super) enum OffsetsCommand {
    /// Show where each sink stands
    Show(Format),
    /// Make the stopped pipeline go on from another place in the log
    Set(SetArguments),
}

#[derive(Debug, Args)]
pub(super) struct SetArguments {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct Place {
    /// Behind these transactions, such as 0-1-42
    #[arg(long, value_name = "SET", conflicts_with_all = ["file", "pos"])]
    gtid: Option<GtidSet>,
    /// In this log file, such as binlog.000007
    #[arg(long, value_name = "FILE", requires = "pos")]
    file: Option<String>,
    /// At this byte of it: the start of a transaction
    #[arg(long, value_name = "N", requires = "file", value_parser = clap::value_parser!(u64).range(4..))]
    pos: Option<u64>,
}

pub(super) fn offsets(target: &Target, command: &OffsetsCommand) -> Result<()> {
    match command {
        OffsetsCommand::Show(format) => show(target, *format),
        OffsetsCommand::Set(arguments) => set(target, &arguments.place),
    }
}

fn show(target: &Target, format: Format) -> Result<()> {
    let running = target.client();
    let offsets = match running {
        Some(client) => client.get(&target.resource("offsets")?)?,
        None => stored(target)?,
    };
    if format.json {
        return json(&offsets);
    }
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none yet".into());
    // A checkpoint does not tell when a sink committed.
    let last_commit = |ms| if running.is_some() { ago(ms) } else { "before the agent stopped".to_owned() };
    table(
        ["sink", "committed", "gtid", "last commit"],
        offsets
            .into_iter()
            .map(|o| [o.sink, or_none(o.committed), or_none(o.gtid), last_commit(o.last_commit_ms)]),
    )
}

/// The copies of the last checkpoint.
fn stored(target: &Target) -> Result<Vec<SinkOffset>> {
    let Some(checkpoint) = target.state()?.last_checkpoint()? else { return Ok(Vec::new()) };
    let offsets = checkpoint.sinks.into_iter().map(|(sink, offset)| SinkOffset {
        sink,
        committed: Some(offset.scanned.log.to_string()),
        gtid: Some(offset.scanned.gtid.to_string()),
        epoch: Some(offset.epoch),
        last_commit_ms: None,
    });
    Ok(offsets.collect())
}

fn set(target: &Target, place: &Place) -> Result<()> {
    if target.client().is_some() {
        return Err(Error::new(ErrorKind::Refused, "the agent is running").hint("stop it first"));
    }
    let state = target.state()?;
    let last = state.last_checkpoint()?.ok_or_else(|| {
        Error::new(ErrorKind::Config, "the pipeline has no offset yet")
            .hint("run it once, then set another place")
    })?;
    let offset = moved(&last.state_offset, place)?;
    let before = last.state_offset.scanned.clone();
    let epoch = offset.epoch;
    state.checkpoint(&Checkpoint { state_offset: offset, ..last })?;
    talk(format_args!(
        "was at '{}' ({}), goes on from {} in epoch {epoch}",
        before.gtid,
        before.log,
        described(place)
    ));
    Ok(())
}

/// The offset of the next epoch at this place. An open transaction is
/// forgotten: it belongs to the place that is left.
fn moved(offset: &Offset, place: &Place) -> Result<Offset> {
    let scanned = match (&place.gtid, &place.file, place.pos) {
        // No file and no byte: nothing in the log counts as delivered but what the set covers.
        (Some(gtid), ..) => Scanned { gtid: gtid.clone(), open: None, log: LogPosition::default() },
        (None, Some(file), Some(pos)) => Scanned {
            gtid: GtidSet::default(),
            open: None,
            log: LogPosition { file_no: file_number(file, &offset.lineage)?, offset: pos },
        },
        _ => {
            return Err(
                Error::new(ErrorKind::Config, "no place is given").hint("give --gtid, or --file and --pos")
            );
        }
    };
    let epoch =
        offset.epoch.checked_add(1).ok_or_else(|| Error::new(ErrorKind::Internal, "no epoch is left"))?;
    Ok(Offset { epoch, scanned, ..offset.clone() })
}

fn file_number(file: &str, lineage: &Lineage) -> Result<u64> {
    let Lineage::MariaDb { log_base, .. } = lineage;
    let wrong = || {
        Error::new(ErrorKind::Config, format!("'{file}' is no log file of this server"))
            .hint(format!("its files are named {log_base}.000001 and so on: SHOW BINARY LOGS tells them"))
    };
    let (base, number) = file.rsplit_once('.').ok_or_else(wrong)?;
    if base != log_base {
        return Err(wrong());
    }
    number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)
}

fn described(place: &Place) -> String {
    match (&place.gtid, &place.file, place.pos) {
        (Some(gtid), ..) => format!("behind '{gtid}'"),
        (None, Some(file), Some(pos)) => format!("{file} at {pos}"),
        _ => "nowhere".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_model::{OpenTransaction, TableUid};

    use super::*;

    fn offset() -> Offset {
        let open = OpenTransaction { gtid: "0-1-7".parse().unwrap(), delivered: [(TableUid(1), 3)].into() };
        let log = LogPosition { file_no: 7, offset: 900 };
        Offset {
            epoch: 4,
            lineage: Lineage::MariaDb { domain: 0, server_id: 1, log_base: "binlog".into(), witness: None },
            scanned: Scanned { gtid: "0-1-6".parse().unwrap(), open: Some(open), log },
            snapshot: Default::default(),
            held: Default::default(),
            tables: Default::default(),
        }
    }

    #[test]
    fn a_place_set_by_hand_begins_an_epoch() {
        let gtid = Place { gtid: Some("0-1-3".parse().unwrap()), file: None, pos: None };
        let moved_to = moved(&offset(), &gtid).unwrap();
        assert_eq!((moved_to.epoch, moved_to.scanned.gtid.to_string()), (5, "0-1-3".to_owned()));
        assert_eq!((moved_to.scanned.open, moved_to.scanned.log), (None, LogPosition::default()));

        let file = |file: &str| Place { gtid: None, file: Some(file.into()), pos: Some(256) };
        let moved_to = moved(&offset(), &file("binlog.000003")).unwrap();
        assert_eq!((moved_to.epoch, moved_to.scanned.gtid.is_empty()), (5, true));
        assert_eq!(moved_to.scanned.log, LogPosition { file_no: 3, offset: 256 });
        for wrong in ["other.000003", "binlog", "binlog.x", "binlog.000000"] {
            assert_eq!(moved(&offset(), &file(wrong)).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }
}

//! Taking over: a claim that fences older processes of the same writer, then
//! clearing what they left.
//!
//! The claim is an entry of the log, so every later append of an older process
//! meets it: an append walks forward one entry at a time and cannot pass it by.
//! Objects are cleared after the claim, since before it an older process might
//! still list them. What an older process places after that, it deletes itself
//! when it meets the claim; if it dies first, the next claim clears it.

use tidegate_format::{EntryKind, LogEntry};
use tidegate_model::{Error, ErrorKind, Result};

use crate::layout::ObjectName;
use crate::log::{Append, CommitLog};
use crate::sink::Writer;

/// Appends a claim above every earlier one of this writer and returns it.
pub(crate) async fn take_over(log: &mut CommitLog, writer: &Writer) -> Result<u64> {
    loop {
        let own = log.state().writer(&writer.id);
        let claim = own.map_or(0, |own| own.claim) + 1;
        if let Some(other) = own.filter(|own| own.name != writer.name) {
            return Err(Error::new(
                ErrorKind::Refused,
                format!("{:?} and {:?} have the same writer id {}", writer.name, other.name, writer.id),
            )
            .hint("rename one of the two sinks"));
        }
        let entry = LogEntry {
            offset: own.and_then(|own| own.offset.clone()),
            dead_letters: own.map_or(0, |own| own.dead_letters),
            ..writer.entry(EntryKind::Claim, claim)
        };
        match log.try_append(&entry).await? {
            Append::Done => return Ok(claim),
            Append::Behind(_) => {}
            Append::NotApplied(error) | Append::Unknown(error) => return Err(error.during("claim the lake")),
        }
    }
}

/// Deletes the objects of this writer's earlier claims that no entry lists, and
/// its temporary files; returns how many objects.
pub(crate) async fn clear(log: &CommitLog, writer: &str, claim: u64) -> Result<usize> {
    let mut dead = Vec::new();
    let state = log.state();
    log.store()
        .list("", &mut |key| {
            let object = ObjectName::of_key(key);
            if object.is_some_and(|object| !state.may_be_live(&object, writer, claim)) {
                dead.push(key.to_owned());
            }
        })
        .await?;
    for key in &dead {
        log.store().delete(key).await?;
    }
    log.store().sweep().await?;
    Ok(dead.len())
}

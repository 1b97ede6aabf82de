//! Targets whose rows differ from the source's although every event arrived.

use tidegate_format::{EdgeRecord, ExistingRowsRecord};
use tidegate_model::TableName;

use crate::log_state::LogState;

/// A change rewrote rows without events, and no snapshot that began behind it is
/// complete: why rows of a target that nobody has touched since a DDL may differ from the
/// source, and the way out. `None`: they do not.
pub(crate) fn divergence(state: &LogState, target: &TableName) -> Option<String> {
    let changes = state.changes_of(target);
    let last = changes.filter(|c| c.change.existing_rows == ExistingRowsRecord::Diverges).last()?;
    let uid = last.change.after.table_uid;
    let begin = state.snapshot_edge(&last.writer, uid, EdgeRecord::Begin);
    let end = state.snapshot_edge(&last.writer, uid, EdgeRecord::End);
    let mended = begin.zip(end).is_some_and(|(begin, end)| {
        begin.generation == end.generation && begin.position >= last.change.position
    });
    let table = target.to_string().replace(char::is_control, "?");
    (!mended).then(|| {
        format!(
            "rows from before v{} may differ from those that the source and the transforms of today would \
             give, because that change sent no events for them; `tidegate snapshot {table}` mends it",
            last.change.after.target_version
        )
    })
}

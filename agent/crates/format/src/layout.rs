//! The lake layout: which row images become rows of a lake, and under which
//! names their facts stand. `docs/reference/lake-layout.md` is its page.
//!
//! One row an event: the after image, for a delete the before image. The one
//! exception is an update that changes the key. Readers find a row's current
//! state by its key, so its after image alone would leave the old key alive for
//! ever; such an event is two rows at one position: a delete with the before
//! image, then an insert with the after image. (Debezium does the same.)

use arrow::array::make_comparator;
use arrow::compute::SortOptions;
use tidegate_model::{ChangeBatch, Error, ErrorKind, Image, Operation, Result, TargetVersion};

/// What happened: `c`, `u`, `d` or `r`.
pub const OP: &str = "__op";
/// Sortable text of the transaction's position.
pub const POS: &str = "__pos";
/// Running number in the transaction; −1 for snapshot rows.
pub const IDX: &str = "__idx";
/// The transaction's GTID; null for snapshot rows.
pub const TX: &str = "__tx";
/// Commit time at the source.
pub const COMMIT_TS: &str = "__commit_ts";
/// The target version, the number of the `v<n>` folder.
pub const SCHEMA: &str = "__schema";
/// Transforms that the row went through.
pub const MODULE: &str = "__module";
/// Snapshot generation.
pub const GENERATION: &str = "__generation";
/// Names of absent cells; null when none is.
pub const ABSENT: &str = "__absent";

/// All of them, in the order in which they follow a row's columns.
pub const FACTS: [&str; 9] = [OP, POS, IDX, TX, COMMIT_TS, SCHEMA, MODULE, GENERATION, ABSENT];

/// The rows that a batch becomes: three lists of one length.
#[derive(Debug, Default)]
pub struct OutputRows {
    /// Index of the image among the batch's rows.
    pub row: Vec<u32>,
    /// Index of the event.
    pub event: Vec<u32>,
    /// What the row says: an update that changes the key is a delete and an
    /// insert here.
    pub operation: Vec<Operation>,
}

impl OutputRows {
    /// The rows of this batch for a target.
    ///
    /// # Errors
    /// `Internal` when the batch's columns are not the target's, `Unsupported`
    /// when a row's key is absent: nothing could ever find that row again.
    pub fn of(batch: &ChangeBatch, target: &TargetVersion) -> Result<Self> {
        if batch.rows.data.num_columns() != target.columns.len() {
            return Err(Error::new(
                ErrorKind::Internal,
                format!(
                    "a batch of {} columns was written to a target of {}",
                    batch.rows.data.num_columns(),
                    target.columns.len()
                ),
            )
            .with("table", &target.name)
            .with("version", target.version));
        }
        let images = &batch.rows.image;
        let mut rows = Self {
            row: Vec::with_capacity(batch.len()),
            event: Vec::with_capacity(batch.len()),
            operation: Vec::with_capacity(batch.len()),
        };
        let changed = key_comparison(batch, target)?;
        let mut split_event = None;
        for (row, (&event, &image)) in batch.rows.event.iter().zip(images).enumerate() {
            let operation = match (batch.events.operation[event as usize], image) {
                (Operation::Update, Image::Before) => {
                    let has_after = batch.rows.event.get(row + 1) == Some(&event);
                    if !(has_after && changed(row, row + 1)) {
                        continue;
                    }
                    split_event = Some(event);
                    Operation::Delete
                }
                (Operation::Update, Image::After) if split_event == Some(event) => Operation::Insert,
                (Operation::Delete, Image::Before) => Operation::Delete,
                (_, Image::Before) => continue,
                (operation, Image::After) => operation,
            };
            rows.row.push(row as u32);
            rows.event.push(event);
            rows.operation.push(operation);
        }
        rows.check_keys(batch, target)?;
        Ok(rows)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// True when they are exactly the batch's rows, so that nothing need be copied.
    pub fn is_whole(&self, batch: &ChangeBatch) -> bool {
        self.row.len() == batch.rows.data.num_rows()
    }

    fn check_keys(&self, batch: &ChangeBatch, target: &TargetVersion) -> Result<()> {
        for &column in &target.key {
            let Some(absent) = &batch.rows.absent[column] else { continue };
            if self.row.iter().any(|&row| absent.value(row as usize)) {
                return Err(Error::new(ErrorKind::Unsupported, "a row image lacks a cell of its key")
                    .with("table", &target.name)
                    .with("column", &target.columns[column].name)
                    .hint("let the server log full row images: SET GLOBAL binlog_row_image = 'FULL'"));
            }
        }
        Ok(())
    }
}

type RowPredicate<'a> = Box<dyn Fn(usize, usize) -> bool + 'a>;

/// Tells whether two rows of the batch differ in the target's key. A cell that
/// one image lacks did not change.
fn key_comparison<'a>(batch: &'a ChangeBatch, target: &TargetVersion) -> Result<RowPredicate<'a>> {
    if !batch.events.operation.contains(&Operation::Update) {
        return Ok(Box::new(|_, _| false));
    }
    let comparators = (target.key.iter())
        .map(|&column| {
            let cells = batch.rows.data.column(column).as_ref();
            let compare = make_comparator(cells, cells, SortOptions::default()).map_err(|error| {
                Error::new(ErrorKind::Internal, "a key column cannot be compared")
                    .with("table", &target.name)
                    .with("column", &target.columns[column].name)
                    .because(error)
            })?;
            Ok((compare, batch.rows.absent[column].as_ref()))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |before, after| {
        comparators.iter().any(|(compare, absent)| {
            absent.is_none_or(|absent| !absent.value(before) && !absent.value(after))
                && compare(before, after).is_ne()
        })
    }))
}

//! From verdicts on rows to the events that go on.
//!
//! A guest judges images; a target needs events. Dropping only one image of an
//! update turns it into the insert or delete that keeps the target right, as the
//! row filters of PostgreSQL's publications do; a filter on whole messages would
//! leave a stale row behind.
//!
//! | before | after | emitted (per image) |
//! | --- | --- | --- |
//! | kept | kept | update |
//! | kept | dropped | delete |
//! | dropped | kept | insert |
//! | dropped | dropped | nothing |
//! | not sent | kept | update |
//! | not sent | dropped | delete by key |

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, take};
use tidegate_model::{
    ChangeBatch, Events, Image, Operation, Refusal, RefusalCode, Result, Rows, TableVersion,
};

use crate::convert::{Computed, system_array};
use crate::plan::{Filter, GuestPlan, Source};
use crate::run::arrow_error;

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Kept, with the computed cells at this index.
    Kept(u32),
    /// Kept without the guest: computed cells are null.
    Unseen,
    /// Dropped by the guest.
    Dropped,
    /// Dropped with all events of its operation, which the plan does not want.
    Unwanted,
}

/// Computed cells of a row that has none.
const NULL: u32 = u32::MAX;
const ABSENT: u32 = u32::MAX - 1;

/// The events that go on, row by row.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    /// Per output row: the input row, and the index of its computed cells.
    source: Vec<u32>,
    computed: Vec<u32>,
    event: Vec<u32>,
    image: Vec<Image>,
    events: Events,
    /// Per output event: its index in the input.
    pub(crate) origin: Vec<u32>,
    /// Events that the guest dropped.
    pub(crate) dropped: u64,
    /// Events that can be neither kept nor dropped.
    pub(crate) refused: Vec<Refusal>,
}

/// Judges the first `events` events of a batch. `fate` has one entry per row;
/// events in `skip` (ascending) are refused already.
pub(crate) fn select(
    batch: &ChangeBatch,
    guest: &GuestPlan,
    output: &TableVersion,
    events: u32,
    fate: &[Fate],
    skip: &[u32],
) -> Selected {
    let mut selected = Selected::default();
    let mut skip = skip.iter().copied().peekable();
    let mut row = 0;
    for event in 0..events {
        let start = row;
        while batch.rows.event.get(row) == Some(&event) {
            row += 1;
        }
        if skip.next_if_eq(&event).is_some() {
            continue;
        }
        let operation = batch.events.operation[event as usize];
        selected.judge(batch, guest, output, event, operation, start..row, fate);
    }
    selected
}

impl Selected {
    #[expect(clippy::too_many_arguments, reason = "one event with all that it is judged by")]
    fn judge(
        &mut self,
        batch: &ChangeBatch,
        guest: &GuestPlan,
        output: &TableVersion,
        event: u32,
        operation: Operation,
        rows: std::ops::Range<usize>,
        fate: &[Fate],
    ) {
        let kept = |row: &usize| !matches!(fate[*row], Fate::Dropped | Fate::Unwanted);
        if rows.clone().all(|row| kept(&row)) {
            return self.push(batch, event, operation, rows, fate);
        }
        if rows.clone().any(|row| fate[row] == Fate::Unwanted) {
            self.dropped += 1;
            return;
        }
        let before = rows.clone().find(|row| batch.rows.image[*row] == Image::Before);
        let survivor = rows.clone().find(kept);
        match (guest.filter, operation, survivor) {
            (Filter::PerImage, Operation::Update, Some(row)) => {
                let operation = match batch.rows.image[row] {
                    Image::Before => Operation::Delete,
                    Image::After => Operation::Insert,
                };
                self.push(batch, event, operation, row..row + 1, fate);
            }
            (Filter::PerImage, Operation::Update, None) if before.is_none() => {
                // Its old row may be at the target.
                let by_key = output.key.iter().all(|k| !matches!(guest.sources[*k], Source::Computed(_)));
                if by_key && !output.key.is_empty() {
                    self.push_row(rows.start, ABSENT, Image::Before);
                    self.push_event(batch, event, Operation::Delete);
                } else {
                    self.refused.push(Refusal {
                        event,
                        code: RefusalCode::Other,
                        column: None,
                        message: "the transform drops an update without before image, and the target's row \
                                  cannot be found: the output's key is computed"
                            .into(),
                        texts: Vec::new(),
                    });
                }
            }
            _ => self.dropped += 1,
        }
    }

    fn push(
        &mut self,
        batch: &ChangeBatch,
        event: u32,
        operation: Operation,
        rows: std::ops::Range<usize>,
        fate: &[Fate],
    ) {
        for row in rows {
            let computed = match fate[row] {
                Fate::Kept(index) => index,
                Fate::Unseen | Fate::Dropped | Fate::Unwanted => NULL,
            };
            self.push_row(row, computed, batch.rows.image[row]);
        }
        self.push_event(batch, event, operation);
    }

    fn push_row(&mut self, row: usize, computed: u32, image: Image) {
        self.source.push(row as u32);
        self.computed.push(computed);
        self.event.push(self.origin.len() as u32);
        self.image.push(image);
    }

    fn push_event(&mut self, batch: &ChangeBatch, event: u32, operation: Operation) {
        let at = event as usize;
        self.events.operation.push(operation);
        self.events.transaction.push(batch.events.transaction[at]);
        self.events.idx.push(batch.events.idx[at]);
        self.events.table_idx.push(batch.events.table_idx[at]);
        self.origin.push(event);
    }

    /// The output batch. `computed` is what the guest returned, in pieces, each
    /// with one entry per computed column.
    pub(crate) fn build(
        self,
        batch: &ChangeBatch,
        guest: &GuestPlan,
        output: Arc<TableVersion>,
        computed: Vec<Vec<Computed>>,
        module: Arc<str>,
    ) -> Result<ChangeBatch> {
        let computed = join(computed, guest)?;
        let same_rows = Gather::new(&self.source, batch.rows.event.len());
        let cells = computed.first().map_or(0, |column| column.array.len());
        let same_cells = Gather::new(if guest.computed.is_empty() { &[] } else { &self.computed }, cells);
        let mut arrays = Vec::with_capacity(guest.sources.len());
        let mut absent = Vec::with_capacity(guest.sources.len());
        for (source, column) in guest.sources.iter().zip(&output.columns) {
            let (array, mask) = match *source {
                Source::Table(index) => {
                    let mask = batch.rows.absent.get(index).and_then(Option::as_ref);
                    (same_rows.array(batch.rows.data.column(index))?, same_rows.mask(mask))
                }
                Source::System(index) => (same_rows.array(&system_array(batch, index))?, None),
                Source::Computed(index) => match computed.get(index) {
                    Some(column) => {
                        (same_cells.array(&column.array)?, same_cells.mask(column.absent.as_ref()))
                    }
                    // No event was seen, so there is no cell to choose from.
                    None => {
                        let nulls =
                            arrow::array::new_null_array(&column.data_type.physical(), self.source.len());
                        (nulls, same_cells.mask(None))
                    }
                },
            };
            arrays.push(array);
            absent.push(mask);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.source.len()));
        let data = RecordBatch::try_new_with_options(output.arrow().clone(), arrays, &options)
            .map_err(arrow_error)?;
        Ok(ChangeBatch {
            table: output,
            rows: Rows { data, event: self.event, image: self.image, absent },
            events: self.events,
            transactions: batch.transactions.clone(),
            generation: batch.generation,
            module,
            refused: Vec::new(),
        })
    }
}

/// One array per computed column; copied only when the batch ran in pieces.
fn join(mut pieces: Vec<Vec<Computed>>, guest: &GuestPlan) -> Result<Vec<Computed>> {
    if pieces.len() < 2 {
        return Ok(pieces.pop().unwrap_or_default());
    }
    let column = |index: usize| {
        let arrays: Vec<&dyn Array> = pieces.iter().map(|piece| piece[index].array.as_ref()).collect();
        let array = concat(&arrays).map_err(arrow_error)?;
        let absent = pieces.iter().any(|piece| piece[index].absent.is_some()).then(|| {
            let cells = pieces.iter().flat_map(|piece| {
                let Computed { array, absent } = &piece[index];
                (0..array.len()).map(|row| absent.as_ref().is_some_and(|absent| absent.value(row)))
            });
            cells.collect()
        });
        Ok(Computed { array, absent })
    };
    (0..guest.computed.len()).map(column).collect()
}

/// Takes cells by index; nothing is copied when every cell stays in its place.
struct Gather<'i> {
    indices: &'i [u32],
    /// `None`: every cell in its place.
    take: Option<UInt32Array>,
}

impl<'i> Gather<'i> {
    fn new(indices: &'i [u32], cells: usize) -> Self {
        let same =
            indices.len() == cells && indices.iter().enumerate().all(|(at, index)| at == *index as usize);
        let index = |index: &u32| (*index < ABSENT).then_some(*index);
        let take = (!same).then(|| indices.iter().map(index).collect());
        Self { indices, take }
    }

    fn array(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match &self.take {
            None => Ok(array.clone()),
            Some(indices) => take(array, indices, None).map_err(arrow_error),
        }
    }

    fn mask(&self, mask: Option<&BooleanBuffer>) -> Option<BooleanBuffer> {
        if self.take.is_none() {
            return mask.cloned();
        }
        if mask.is_none() && !self.indices.contains(&ABSENT) {
            return None;
        }
        let cell = |index: &u32| match *index {
            ABSENT => true,
            NULL => false,
            index => mask.is_some_and(|mask| mask.value(index as usize)),
        };
        let gathered: BooleanBuffer = self.indices.iter().map(cell).collect();
        (gathered.count_set_bits() > 0).then_some(gathered)
    }
}

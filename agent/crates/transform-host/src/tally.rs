//! What became of each event of a batch, noted piece by piece in order, and the
//! circuit breaker: a transform that refuses event after event of a table is
//! stopped on that table before it has moved all of it to the dead letters.

use tidegate_model::transform::Park;
use tidegate_model::{ChangeBatch, Refusal};

use crate::assemble::Fate;
use crate::convert::{Computed, SYSTEM_COLUMNS};
use crate::plan::GuestPlan;
use crate::run::{Outcome, Piece};

/// Events of one table that a transform may refuse in a row before the table is
/// parked: then it is not the events that are wrong.
pub(crate) const REFUSED_IN_A_ROW_MAX: u32 = 100;

/// What is known of a batch while it runs.
pub(crate) struct Tally<'b> {
    batch: &'b ChangeBatch,
    reads: &'b [usize],
    /// Per row.
    pub(crate) fate: Vec<Fate>,
    /// Per piece, the computed columns.
    pub(crate) computed: Vec<Vec<Computed>>,
    /// Computed cells so far.
    cells: u32,
    pub(crate) refused: Vec<Refusal>,
    /// Events in `refused`, ascending.
    pub(crate) skip: Vec<u32>,
    /// Events of the batch that are processed: all, or up to where it parks.
    pub(crate) events: u32,
    pub(crate) park: Option<Park>,
    /// Seen events counted for the streak so far, and refusals among them.
    counted: usize,
    counted_refusals: usize,
    /// Seen events that have run.
    ran: usize,
}

impl<'b> Tally<'b> {
    pub(crate) fn new(guest: &'b GuestPlan, batch: &'b ChangeBatch) -> Self {
        let unseen = if guest.drops_unseen { Fate::Unwanted } else { Fate::Unseen };
        let skips_guest = !guest.needs_guest();
        let fate = (batch.rows.event.iter())
            .map(|event| match guest.sees(batch.events.operation[*event as usize]) {
                true if skips_guest => Fate::Unseen,
                _ => unseen,
            })
            .collect();
        Self {
            batch,
            reads: &guest.reads,
            fate,
            computed: Vec::new(),
            cells: 0,
            refused: Vec::new(),
            skip: Vec::new(),
            events: batch.len() as u32,
            park: None,
            counted: 0,
            counted_refusals: 0,
            ran: 0,
        }
    }

    /// Notes a piece of `part`, whose events are `seen` and whose rows are `rows`
    /// of the batch.
    pub(crate) fn take(&mut self, piece: Piece, part: &ChangeBatch, seen: &[u32], rows: &[u32]) {
        self.ran = piece.events.end as usize;
        match piece.outcome {
            Outcome::Refused(code, message) => {
                let event = seen[piece.events.start as usize];
                self.refuse(Refusal { event, code, column: None, message, texts: Vec::new() });
            }
            Outcome::Answer(answer) => {
                for refused in &answer.refused {
                    let event = seen[part.rows.event[piece.rows.start + refused.row as usize] as usize];
                    self.refuse(Refusal {
                        event,
                        code: refused.code,
                        column: refused.read.map(|read| self.column_name(read)),
                        message: refused.message.clone(),
                        texts: Vec::new(),
                    });
                }
                match &answer.keep {
                    None => {
                        for (cell, row) in piece.rows.clone().enumerate() {
                            self.fate[rows[row] as usize] = Fate::Kept(self.cells + cell as u32);
                        }
                        self.cells += piece.rows.len() as u32;
                    }
                    Some(keep) => {
                        for row in piece.rows.clone() {
                            self.fate[rows[row] as usize] = Fate::Dropped;
                        }
                        for (cell, row) in keep.iter().enumerate() {
                            let row = rows[piece.rows.start + *row as usize];
                            self.fate[row as usize] = Fate::Kept(self.cells + cell as u32);
                        }
                        self.cells += keep.len() as u32;
                    }
                }
                self.computed.push(answer.columns);
            }
        }
    }

    /// Both images of an event may be refused; the first reason counts.
    fn refuse(&mut self, refusal: Refusal) {
        if self.skip.last() != Some(&refusal.event) {
            self.skip.push(refusal.event);
            self.refused.push(refusal);
        }
    }

    fn column_name(&self, read: usize) -> String {
        let index = self.reads[read];
        let own = self.batch.table.columns.get(index).map(|column| column.name.clone());
        own.unwrap_or_else(|| SYSTEM_COLUMNS[index - self.batch.table.columns.len()].name.into())
    }

    /// Counts refusals in a row over the events that ran; true when the table
    /// must be parked. What ran behind the last of them is forgotten.
    pub(crate) fn count_refused(&mut self, seen: &[u32], streak: &mut u32) -> bool {
        while self.counted < self.ran {
            let event = seen[self.counted];
            self.counted += 1;
            if self.skip.get(self.counted_refusals) != Some(&event) {
                *streak = 0;
                continue;
            }
            self.counted_refusals += 1;
            *streak += 1;
            if *streak == REFUSED_IN_A_ROW_MAX {
                *streak = 0;
                self.skip.truncate(self.counted_refusals);
                self.refused.truncate(self.counted_refusals);
                self.events = event + 1;
                self.park = Some(Park {
                    from: event + 1,
                    message: format!(
                        "refused {REFUSED_IN_A_ROW_MAX} events of the table in a row; \
                         `tidegate dead-letters list` shows why"
                    ),
                });
                return true;
            }
        }
        false
    }
}

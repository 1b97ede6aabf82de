//! Column type to value: one codec per column, used by both ways in.
//!
//! A snapshot reads cells by the binary protocol, the stream reads them out of
//! row events. Both end in the same few functions that append to an Arrow
//! builder, so a snapshot value is the stream value by construction; what
//! remains to be shown, that it is also the server's value, the tests show.
//!
//! Hot path: [`TableCodec::decode_rows`] walks the images once, cell by cell,
//! with a decoder per column that was resolved when the table's map arrived.
//! It allocates nothing per row, and every byte is read through a bounds check.
//!
//! **Exactness.** A column whose type is not in `docs/reference/types.md` gives
//! `Unsupported` when the codec is made, before the first row: its table is
//! parked. A *value* that the model cannot hold (a zero or partial date, text
//! that is not valid in its charset) refuses its event: the cell is null, and
//! the server's text goes into the refusal, so that the row lands among the
//! dead letters whole.
//!
//! The snapshot session must be `time_zone='+00:00'`,
//! `character_set_results=NULL` (text arrives in the column's charset, as in
//! the log), without PAD_CHAR_TO_FULL_LENGTH in `sql_mode`, prepared statements
//! (FLOAT as 4 bytes), ENUM and SET as numbers ([`select_expression`]).

mod cell;
mod decimal;
mod label;
#[cfg(test)]
mod reference_tests;
mod rows;
mod skip;
mod snapshot;
#[cfg(test)]
mod snapshot_tests;
mod temporal;
#[cfg(test)]
mod tests;
mod text;

pub use rows::{RowsDecoded, TableCodec};
pub use snapshot::{SnapshotCodec, select_expression};

/// Longest row image that the agent takes; a larger row is no value of a batch.
pub const ROW_BYTES_MAX: usize = 64 << 20;

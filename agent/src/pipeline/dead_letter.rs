//! Takes refused events out of a batch, with their original images.

use std::sync::Arc;

use tidegate_model::{ChangeBatch, DeadLetter, Error, ErrorKind, Refusal, Result, Stage};

/// A refusal with who refused.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    pub(super) refusal: Refusal,
    pub(super) stage: Stage,
    pub(super) module: Arc<str>,
}

/// Dead letters for these events of `batch`, in log order. The batch itself is
/// not changed. Two refusals of one event make one letter, by the first.
///
/// # Errors
/// When Arrow cannot slice the batch.
pub(super) fn letters(batch: &ChangeBatch, mut refused: Vec<Refused>) -> Result<Vec<DeadLetter>> {
    refused.sort_by_key(|r| r.refusal.event);
    refused.dedup_by_key(|r| r.refusal.event);
    refused.into_iter().map(|r| letter(batch, r)).collect()
}

fn letter(batch: &ChangeBatch, refused: Refused) -> Result<DeadLetter> {
    let Refused { mut refusal, stage, module } = refused;
    let event = refusal.event;
    let first_row = batch.rows_of(event as usize).start as u32;
    refusal.event = 0;
    // Texts name rows of the batch they were found in; the letter holds one event.
    for (row, ..) in &mut refusal.texts {
        *row = row.saturating_sub(first_row);
    }
    let mut event = without_refusals(batch).select(&[event]).map_err(arrow)?;
    event.refused.clear();
    Ok(DeadLetter { event, refusal, stage, module })
}

/// The events of `batch` that no refusal names; `None` when none is left.
///
/// # Errors
/// When Arrow cannot take the rows.
pub(super) fn rest(batch: &ChangeBatch, refused: &[Refused]) -> Result<Option<ChangeBatch>> {
    let mut keep = vec![true; batch.len()];
    for r in refused {
        keep[r.refusal.event as usize] = false;
    }
    let keep: Vec<u32> = (0..batch.len() as u32).filter(|&e| keep[e as usize]).collect();
    if keep.is_empty() {
        return Ok(None);
    }
    without_refusals(batch).select(&keep).map(Some).map_err(arrow)
}

fn without_refusals(batch: &ChangeBatch) -> ChangeBatch {
    ChangeBatch { refused: Vec::new(), ..batch.clone() }
}

/// An Arrow kernel's failure as ours.
pub(super) fn arrow(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Internal, "cannot select rows of a batch").because(error)
}

#[cfg(test)]
mod tests {
    use tidegate_model::RefusalCode;

    use super::super::testing::{ids, inserts, table};
    use super::*;

    fn refused(event: u32) -> Refused {
        let refusal = Refusal {
            event,
            code: RefusalCode::InvalidValue,
            column: None,
            message: "bad".into(),
            texts: vec![(event, 0, "0000-00-00".into())],
        };
        Refused { refusal, stage: Stage::Source, module: "".into() }
    }

    #[test]
    fn letters_and_rest_are_the_whole_batch() {
        let batch = inserts(&table(1, 0), &[(1, 10), (1, 11), (2, 12), (3, 13)]);
        let some = vec![refused(2), refused(0), refused(2)];
        let letters = letters(&batch, some.clone()).unwrap();
        assert_eq!(letters.iter().flat_map(|l| ids(&l.event)).collect::<Vec<_>>(), [10, 12]);
        assert_eq!(letters[1].position(), batch.position(2));
        assert_eq!(letters[1].refusal.texts, [(0, 0, "0000-00-00".into())]);
        assert_eq!(ids(&rest(&batch, &some).unwrap().unwrap()), [11, 13]);
        let all: Vec<_> = (0..4).map(refused).collect();
        assert!(rest(&batch, &all).unwrap().is_none());
    }
}

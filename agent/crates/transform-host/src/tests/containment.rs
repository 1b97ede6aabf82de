//! Each limit broken once, and what it costs the other rows: nothing.

use tidegate_model::transform::{Transform, Transformed};
use tidegate_model::{ChangeBatch, ErrorKind, RefusalCode};

use crate::testing::{Change, PlanLayout, batch, changes, planned, table};

/// Inserts whose numbers are these.
fn numbered(numbers: &[i64]) -> Vec<Change> {
    numbers
        .iter()
        .enumerate()
        .map(|(id, number)| Change::Insert((id as i64, Some(*number), Some("t"))))
        .collect()
}

fn apply(numbers: &[i64]) -> Transformed {
    planned(PlanLayout::default()).apply(batch(&numbered(numbers))).unwrap()
}

/// One bad event among good ones is refused with this reason, the rest goes on.
fn isolated(bad: i64, reason: &str) {
    let output = apply(&[1, 2, bad, 4, 5, 6, 7]);
    assert_eq!(output.refused.len(), 1, "{bad}");
    let refusal = &output.refused[0];
    assert_eq!((refusal.event, refusal.code), (2, RefusalCode::Trap), "{bad}");
    assert!(refusal.message.contains(reason), "{bad}: {}", refusal.message);
    assert_eq!(output.origin, Some(vec![0, 1, 3, 4, 5, 6]));
    let out = changes(&output.batch.unwrap());
    assert_eq!(out[2], Change::Insert("3 8 t".into()));
    assert_eq!(out.len(), 6);
}

#[test]
fn a_trap_names_the_function() {
    isolated(13, "unreachable");
    isolated(13, "in function `transform`");
}

#[test]
fn an_endless_loop_is_judged_by_fuel() {
    isolated(14, "more instructions than an event may");
}

#[test]
fn a_memory_eater() {
    isolated(15, "out of memory");
}

#[test]
fn broken_contracts_name_the_rule() {
    isolated(17, "computed column \"text\": an offset");
    isolated(18, "computed column \"text\": text is not UTF-8");
    isolated(25, "computed column \"double\": a mark is not 0, 1 or 2");
    isolated(26, "1 computed columns returned, 2 planned");
    // A dropped row under a plan without filter.
    isolated(19, "a row is neither kept nor in `errors`");
}

#[test]
fn permanent_isolates_with_the_guests_own_words() {
    let output = apply(&[1, 21, 3]);
    let refusal = &output.refused[0];
    assert_eq!((refusal.event, refusal.code), (1, RefusalCode::Other));
    assert_eq!(refusal.message, "must not be seen");
    assert_eq!(output.batch.unwrap().len(), 2);
}

#[test]
fn transient_is_tried_again() {
    let output = apply(&[1, 20, 3]);
    assert_eq!((output.refused.len(), output.batch.unwrap().len()), (0, 3));
}

#[test]
fn fatal_stops_without_the_guests_words() {
    let mut transform = planned(PlanLayout::default());
    let error = transform.apply(batch(&numbered(&[1, 22, 3]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transform);
    assert!(!error.to_string().contains("must not be seen"), "{error}");
    assert!(error.to_string().contains("table shop.items"), "{error}");
}

#[test]
fn a_slow_event_is_delivered_whatever_the_clock_says() {
    let output = apply(&[1, 23, 3]);
    assert_eq!((output.refused.len(), output.batch.unwrap().len()), (0, 3));
}

#[test]
fn a_verdict_does_not_depend_on_what_ran_before() {
    let mut transform = planned(PlanLayout::default());
    for _ in 0..3 {
        let output = transform.apply(batch(&numbered(&[1, 24, 3]))).unwrap();
        assert_eq!((output.refused.len(), output.batch.unwrap().len()), (0, 3));
    }
}

#[test]
fn the_transform_lives_on_after_every_fault() {
    let mut transform = planned(PlanLayout::default());
    for bad in [13, 15, 17, 21] {
        transform.apply(batch(&numbered(&[bad]))).unwrap();
        let output = transform.apply(batch(&numbered(&[1]))).unwrap();
        assert_eq!(output.batch.unwrap().len(), 1, "{bad}");
    }
}

#[test]
fn cuts_mean_nothing() {
    let numbers: Vec<i64> = (0..1_000).map(|n| if n % 97 == 0 { 13 + n % 5 * 4 } else { n % 11 }).collect();
    let all = numbered(&numbers);
    let run = |size: usize| {
        let mut transform = planned(PlanLayout::default());
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for (n, part) in all.chunks(size).enumerate() {
            let output = transform.apply(batch(part)).unwrap();
            kept.extend(output.batch.iter().flat_map(changes));
            let at = |event: u32| n * size + event as usize;
            refused.extend(output.refused.iter().map(|r| (at(r.event), r.code, r.message.clone())));
        }
        (kept, refused)
    };
    let whole = run(1_000);
    assert!(!whole.1.is_empty() && !whole.0.is_empty());
    for size in [1, 7, 333] {
        assert_eq!(run(size), whole, "cut at {size}");
    }
}

#[test]
fn a_sliced_batch_gives_the_same() {
    let input = batch(&numbered(&[1, 2, 3, 4, 5]));
    let slice: ChangeBatch = input.select(&[2, 3]).unwrap();
    let out = planned(PlanLayout::default()).apply(slice).unwrap().batch.unwrap();
    assert_eq!(changes(&out), [Change::Insert("2 6 t".into()), Change::Insert("3 8 t".into())]);
}

#[test]
fn a_hundred_in_a_row_park_the_table() {
    let mut transform = planned(PlanLayout::default());
    // 60 and 40 over a cut; what lies behind waits.
    let numbers: Vec<i64> = [vec![1], vec![16; 60]].concat();
    let output = transform.apply(batch(&numbered(&numbers))).unwrap();
    assert_eq!((output.park, output.refused.len()), (None, 60));
    let numbers = [vec![16; 40], vec![3, 16, 4]].concat();
    let output = transform.apply(batch(&numbered(&numbers))).unwrap();
    let park = output.park.unwrap();
    assert_eq!((park.from, output.refused.len(), output.batch.is_none()), (40, 40, true));
    assert!(park.message.contains("dead-letters"), "{}", park.message);
    // An event that goes on ends the row.
    let numbers = [vec![16; 99], vec![1], vec![16; 99]].concat();
    let output = transform.apply(batch(&numbered(&numbers))).unwrap();
    assert_eq!((output.park, output.refused.len()), (None, 198));
}

#[test]
fn a_batch_of_an_unplanned_version_is_our_own_fault() {
    let mut transform = crate::testing::probe(PlanLayout::default());
    let error = transform.apply(batch(&numbered(&[1]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    transform.plan(&table()).unwrap();
    assert!(transform.apply(batch(&numbered(&[1]))).is_ok());
}

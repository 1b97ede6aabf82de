//! Commit, abort, alter, and what the record says afterwards.

use tidegate_model::sink::{Outcome, Part, Sink};
use tidegate_model::{ErrorKind, SnapshotMark, TableUid};

use super::faulty_store::{Fault, FaultyStore};
use super::sample::{Scratch, change, commit_to, insert, offset, orders, position, ready, target, write};
use crate::{Format, ObjectSink};

#[tokio::test]
async fn a_commit_makes_rows_and_offset_visible_together() {
    let scratch = Scratch::new();
    let mut sink = ready(scratch.sink()).await;
    write(&mut sink, &insert(1)).await.unwrap();
    assert!(sink.uncommitted_bytes() > 0);
    assert!(scratch.files().await.is_empty());
    assert!(scratch.globbed().is_empty());
    assert_eq!(sink.commit(&commit_to(100)).await.unwrap(), Outcome::Committed);
    assert_eq!(sink.uncommitted_bytes(), 0);
    assert_eq!(scratch.ids().await, [1]);

    let mut next = scratch.sink();
    let recovered = next.recover().await.unwrap();
    assert_eq!(recovered.offset.as_ref(), Some(offset(100).as_ref()));
    assert_eq!(recovered.targets[&orders()], *target(1));
}

#[tokio::test]
async fn an_idle_commit_moves_the_offset_without_files() {
    let scratch = Scratch::new();
    let mut sink = ready(scratch.sink()).await;
    assert_eq!(sink.commit(&commit_to(700)).await.unwrap(), Outcome::Committed);
    assert_eq!(sink.recover().await.unwrap().offset.as_ref(), Some(offset(700).as_ref()));
    assert!(scratch.globbed().is_empty());
}

#[tokio::test]
async fn abort_forgets_what_is_uncommitted() {
    let scratch = Scratch::new();
    let mut sink = ready(scratch.sink()).await;
    write(&mut sink, &insert(1)).await.unwrap();
    sink.abort().await.unwrap();
    write(&mut sink, &insert(2)).await.unwrap();
    assert_eq!(sink.commit(&commit_to(200)).await.unwrap(), Outcome::Committed);
    assert_eq!(scratch.ids().await, [2]);
    assert_eq!(scratch.globbed().len(), 1);
}

#[tokio::test]
async fn an_alter_happens_once_and_only_from_its_base() {
    let scratch = Scratch::new();
    let mut sink = ready(scratch.sink()).await;
    let entries = scratch.lake().await.state().number();
    sink.alter(&change(1)).await.unwrap();
    assert_eq!(scratch.lake().await.state().number(), entries, "a repeated change wrote an entry");
    let skipping = sink.alter(&change(3)).await.unwrap_err();
    assert_eq!(skipping.kind(), ErrorKind::Schema, "{skipping}");
    sink.alter(&change(2)).await.unwrap();
    let stale = write(&mut sink, &insert(1)).await.unwrap_err();
    assert!(stale.to_string().contains("the target is at v2, not at v1"), "{stale}");
}

#[tokio::test]
async fn a_refused_entry_is_committed_at_the_next_try() {
    let scratch = Scratch::new();
    let config = scratch.config(Format::JsonLines, "lake");
    let store = FaultyStore::new(&config, None);
    let mut sink = ready(ObjectSink::with_store(config, store.clone())).await;
    write(&mut sink, &insert(1)).await.unwrap();
    store.set(Some(Fault::RefuseEntry));
    assert_eq!(sink.commit(&commit_to(100)).await.unwrap(), Outcome::NotApplied);
    assert!(scratch.ids().await.is_empty());
    assert_eq!(sink.commit(&commit_to(100)).await.unwrap(), Outcome::Committed);
    assert_eq!(scratch.ids().await, [1]);
}

#[tokio::test]
async fn a_lost_answer_is_found_out() {
    let scratch = Scratch::new();
    let config = scratch.config(Format::JsonLines, "lake");
    let store = FaultyStore::new(&config, None);
    let mut sink = ready(ObjectSink::with_store(config, store.clone())).await;

    write(&mut sink, &insert(1)).await.unwrap();
    store.set(Some(Fault::LoseAnswer));
    assert_eq!(sink.commit(&commit_to(100)).await.unwrap(), Outcome::Committed);

    write(&mut sink, &insert(2)).await.unwrap();
    store.set(Some(Fault::LoseAnswerAndReads));
    assert_eq!(sink.commit(&commit_to(200)).await.unwrap(), Outcome::Unknown);
    store.set(None);
    assert_eq!(sink.commit(&commit_to(200)).await.unwrap(), Outcome::Committed);

    write(&mut sink, &insert(3)).await.unwrap();
    assert_eq!(sink.commit(&commit_to(300)).await.unwrap(), Outcome::Committed);
    assert_eq!(scratch.ids().await, [1, 2, 3]);
}

#[tokio::test]
async fn a_commit_of_unknown_outcome_is_not_forgotten() {
    let scratch = Scratch::new();
    let config = scratch.config(Format::JsonLines, "lake");
    let store = FaultyStore::new(&config, None);
    let mut sink = ready(ObjectSink::with_store(config, store.clone())).await;
    write(&mut sink, &insert(1)).await.unwrap();
    store.set(Some(Fault::LoseAnswerAndReads));
    assert_eq!(sink.commit(&commit_to(100)).await.unwrap(), Outcome::Unknown);
    store.set(None);
    let error = sink.abort().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(sink.recover().await.unwrap().offset.as_ref(), Some(offset(100).as_ref()));
    assert_eq!(scratch.ids().await, [1]);
}

#[tokio::test]
async fn snapshots_of_the_log_chain_without_a_gap() {
    let scratch = Scratch::new();
    let mut sink = ready(scratch.sink()).await;
    let mark =
        SnapshotMark::End { table: TableUid(1), name: orders().into(), generation: 1, position: position(4) };
    sink.write(Part::Snapshot(&mark)).await.unwrap();
    for id in 1..=230 {
        write(&mut sink, &insert(id)).await.unwrap();
        assert_eq!(sink.commit(&commit_to(id as u64 * 100)).await.unwrap(), Outcome::Committed);
    }
    let snapshots = std::fs::read_dir(scratch.root().join("_tidegate/snapshot")).unwrap().count();
    assert_eq!(snapshots, 2);
    assert_eq!(scratch.ids().await, (1..=230).collect::<Vec<i64>>());

    // The state from a snapshot is the state from all entries.
    let lake = scratch.lake().await;
    let mut replayed = crate::LogState::default();
    lake.entries(&mut |_, entry| replayed.apply(&entry)).await.unwrap();
    assert_eq!(&replayed, lake.state());
}

#[tokio::test]
async fn a_hole_in_the_log_is_refused() {
    let scratch = Scratch::new();
    let mut sink = ready(scratch.sink()).await;
    for at in [100, 200] {
        sink.commit(&commit_to(at)).await.unwrap();
    }
    std::fs::remove_file(scratch.root().join(crate::layout::log_key(3))).unwrap();
    let error = scratch.sink().recover().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("entry 3"), "{error}");
}

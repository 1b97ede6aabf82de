//! The process dies at every single step that changes something; after the next
//! start a plain glob equals the log, and every row is there once.

use tidegate_model::Result;
use tidegate_model::sink::{Outcome, Sink};

use super::faulty_store::{Fault, FaultyStore};
use super::sample::{Scratch, change, commit_to, insert, target, write};
use crate::{Format, ObjectSink};
use tidegate_model::sink::Part;

/// Writes ids from `first` on, two a commit and each in a file of its own, to 6.
async fn work(sink: &mut ObjectSink, first: i32) -> Result<()> {
    for id in first..=6 {
        sink.write(Part::Rows { target: &target(1), batch: &insert(id) }).await?;
        if id % 2 == 0 {
            assert_eq!(sink.commit(&commit_to(id as u64)).await?, Outcome::Committed);
        }
    }
    Ok(())
}

async fn run(sink: &mut ObjectSink) -> Result<()> {
    let recovered = sink.recover().await?;
    sink.alter(&change(1)).await?;
    let done = recovered.offset.map_or(0, |offset| offset.scanned.log.offset - 1);
    work(sink, done as i32 + 1).await
}

async fn crash(fault: impl Fn(usize) -> Fault) -> usize {
    for step in 1.. {
        let scratch = Scratch::new();
        let mut config = scratch.config(Format::JsonLines, "lake");
        config.max_file_rows = 1;
        let store = FaultyStore::new(&config, Some(fault(step)));
        let mut sink = ObjectSink::with_store(config.clone(), store);
        let outcome = tokio::spawn(async move { run(&mut sink).await.is_ok() }).await;
        let survived = outcome.unwrap_or(false);

        let mut next = ObjectSink::new(config.clone());
        next.recover().await.unwrap();
        let live: std::collections::BTreeSet<_> = match scratch.lake().await.tables().is_empty() {
            true => Default::default(),
            false => scratch.files().await.into_iter().map(|file| file.key).collect(),
        };
        assert_eq!(scratch.globbed(), live, "step {step}");
        run(&mut next).await.unwrap();
        assert_eq!(scratch.ids().await, [1, 2, 3, 4, 5, 6], "step {step}");
        assert_eq!(std::fs::read_dir(&config.staging).unwrap().count(), 0, "step {step}");
        if survived {
            return step;
        }
    }
    unreachable!("some run survives")
}

#[tokio::test]
async fn before_every_step() {
    assert!(crash(Fault::DeadBefore).await > 8);
}

#[tokio::test]
async fn after_every_step() {
    assert!(crash(Fault::DeadAfter).await > 8);
}

#[tokio::test]
async fn a_fenced_process_that_dies_with_objects_placed_is_cleared_at_the_next_claim() {
    let scratch = Scratch::new();
    let config = scratch.config(Format::JsonLines, "lake");
    let store = FaultyStore::new(&config, None);
    let mut old = super::sample::ready(ObjectSink::with_store(config.clone(), store.clone())).await;
    write(&mut old, &insert(1)).await.unwrap();
    old.commit(&commit_to(100)).await.unwrap();
    write(&mut old, &insert(2)).await.unwrap();

    let mut other = config.clone();
    other.staging = config.staging.with_file_name("elsewhere");
    let mut new = ObjectSink::new(other);
    new.recover().await.unwrap();
    write(&mut new, &insert(2)).await.unwrap();
    new.commit(&commit_to(200)).await.unwrap();
    // The old process places its object after the new one has cleared, meets the claim, and
    // dies before it deletes.
    store.set(Some(Fault::DeadAfter(3 + 2)));
    let _ = old.commit(&commit_to(200)).await;
    assert_eq!(scratch.globbed().len(), 3);

    new.recover().await.unwrap();
    assert_eq!(scratch.globbed().len(), 2);
    assert_eq!(scratch.ids().await, [1, 2]);
}

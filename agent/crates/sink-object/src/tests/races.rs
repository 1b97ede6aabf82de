//! Several writers on one lake, and several processes of one writer.

use tidegate_model::ErrorKind;
use tidegate_model::sink::{Outcome, Part, Sink};

use super::sample::{Scratch, change, commit_to, insert, offset, ready, target, write};
use crate::{Format, ObjectSink, ObjectSinkConfig};

fn elsewhere(config: &ObjectSinkConfig, name: &str) -> ObjectSinkConfig {
    let mut config = config.clone();
    config.staging = config.staging.with_file_name(name);
    config
}

#[tokio::test]
async fn an_older_process_is_fenced_at_its_next_commit() {
    let scratch = Scratch::new();
    let config = scratch.config(Format::JsonLines, "lake");
    let mut old = ready(ObjectSink::new(config.clone())).await;
    write(&mut old, &insert(1)).await.unwrap();
    old.commit(&commit_to(100)).await.unwrap();
    write(&mut old, &insert(2)).await.unwrap();

    let mut new = ObjectSink::new(elsewhere(&config, "new"));
    let recovered = new.recover().await.unwrap();
    assert_eq!(recovered.offset.as_ref(), Some(offset(100).as_ref()));
    assert_eq!(old.commit(&commit_to(200)).await.unwrap(), Outcome::Fenced);
    for error in [
        write(&mut old, &insert(3)).await.unwrap_err(),
        old.commit(&commit_to(300)).await.unwrap_err(),
        old.alter(&change(2)).await.unwrap_err(),
        old.abort().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Fenced);
        assert_eq!(error.exit_code(), 3);
    }
    write(&mut new, &insert(2)).await.unwrap();
    assert_eq!(new.commit(&commit_to(200)).await.unwrap(), Outcome::Committed);
    assert_eq!(scratch.ids().await, [1, 2]);
    assert_eq!(scratch.globbed().len(), 2, "the fenced process left its object");
}

#[tokio::test]
async fn an_older_process_is_fenced_at_an_alter() {
    let scratch = Scratch::new();
    let config = scratch.config(Format::JsonLines, "lake");
    let mut old = ready(ObjectSink::new(config.clone())).await;
    ObjectSink::new(elsewhere(&config, "new")).recover().await.unwrap();
    assert_eq!(old.alter(&change(2)).await.unwrap_err().kind(), ErrorKind::Fenced);
}

#[tokio::test]
async fn a_target_changed_by_another_writer_stops_the_commit() {
    let scratch = Scratch::new();
    let mut one = ready(scratch.sink()).await;
    let mut two = ObjectSink::new(scratch.config(Format::JsonLines, "other"));
    two.recover().await.unwrap();
    write(&mut one, &insert(1)).await.unwrap();
    two.alter(&change(2)).await.unwrap();
    let error = one.commit(&commit_to(100)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    one.abort().await.unwrap();
    assert!(scratch.globbed().is_empty());
}

/// Four writers of a thread each: every row of each is there once, in its order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_of_one_lake_interleave() {
    let scratch = Scratch::new();
    ready(scratch.sink()).await;
    let tasks: Vec<_> = (0..4)
        .map(|writer| {
            let config = scratch.config(Format::JsonLines, &format!("writer-{writer}"));
            tokio::spawn(async move {
                let mut sink = ObjectSink::new(config);
                sink.recover().await.unwrap();
                for n in 0..40 {
                    let id = writer * 1000 + n;
                    sink.write(Part::Rows { target: &target(1), batch: &insert(id) }).await.unwrap();
                    assert_eq!(sink.commit(&commit_to(id as u64)).await.unwrap(), Outcome::Committed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let ids = scratch.ids().await;
    for writer in 0..4 {
        let own: Vec<_> = ids.iter().filter(|id| **id / 1000 == writer).map(|id| id % 1000).collect();
        assert_eq!(own, (0..40).collect::<Vec<_>>());
    }
    assert_eq!(scratch.globbed().len(), 160);
}

/// Processes of one writer take over from each other as fast as they can: each
/// resumes at the offset that it recovers, and every row is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_of_one_writer_fence_each_other() {
    const ROWS: u64 = 150;
    let scratch = Scratch::new();
    ready(scratch.sink()).await;
    let config = scratch.config(Format::JsonLines, "lake");
    let tasks: Vec<_> = (0..4)
        .map(|process| {
            let config = elsewhere(&config, &format!("process-{process}"));
            tokio::spawn(async move {
                let mut fences = 0;
                let mut sink = ObjectSink::new(config);
                'claim: loop {
                    // Two claims may race for one number, and a claim may clear a temporary
                    // file of another process: both heal by trying again.
                    let recovered = match sink.recover().await {
                        Ok(recovered) => recovered,
                        Err(error) if error.is_transient() => continue,
                        Err(error) => panic!("{error}"),
                    };
                    let done = recovered.offset.map_or(0, |offset| offset.scanned.log.offset - 1);
                    for id in done + 1..=ROWS {
                        write(&mut sink, &insert(id as i32)).await.unwrap();
                        loop {
                            match sink.commit(&commit_to(id)).await {
                                Ok(Outcome::Committed) => break,
                                Ok(Outcome::Fenced) => {
                                    fences += 1;
                                    continue 'claim;
                                }
                                Ok(Outcome::NotApplied | Outcome::Unknown) => {}
                                Err(error) if error.is_transient() => {}
                                Err(error) => panic!("{error}"),
                            }
                        }
                        if id % 10 == process * 2 {
                            continue 'claim;
                        }
                    }
                    return fences;
                }
            })
        })
        .collect();
    let mut fences = 0;
    for task in tasks {
        fences += task.await.unwrap();
    }
    assert!(fences > 0, "nobody met another's claim");
    assert_eq!(scratch.ids().await, (1..=ROWS as i64).collect::<Vec<_>>());
    scratch.sink().recover().await.unwrap();
    assert_eq!(scratch.globbed().len() as u64, ROWS);
}

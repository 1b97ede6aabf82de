//! Folders that are not what a lake needs.

use tidegate_model::ErrorKind;
use tidegate_model::sink::{Outcome, Sink};

use super::sample::{Scratch, commit_to, insert, ready, write};
use crate::{Format, ObjectSink, check};

#[tokio::test]
async fn a_file_where_the_lake_should_be_is_named() {
    let scratch = Scratch::new();
    std::fs::write(scratch.root(), "a file").unwrap();
    let error = check(&scratch.config(Format::Parquet, "lake")).await.unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert!(
        text.contains("is a file, not a folder") && text.contains("hint: point the sink's url"),
        "{text}"
    );
}

#[tokio::test]
async fn a_check_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let config = scratch.config(Format::Parquet, "lake");
    check(&config).await.unwrap();
    for folder in [scratch.root().join("_tidegate/tmp"), config.staging] {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}

/// Staging on another file system: a commit copies instead of moving.
#[tokio::test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
async fn staging_may_lie_on_another_file_system() {
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else {
        return eprintln!("SKIPPED: no second file system in /dev/shm");
    };
    let scratch = Scratch::new();
    let mut config = scratch.config(Format::JsonLines, "lake");
    config.staging = other.path().join("staging");
    let mut sink = ready(ObjectSink::new(config.clone())).await;
    write(&mut sink, &insert(1)).await.unwrap();
    assert_eq!(sink.commit(&commit_to(100)).await.unwrap(), Outcome::Committed);
    assert_eq!(scratch.ids().await, [1]);
    assert_eq!(std::fs::read_dir(&config.staging).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(scratch.root().join("_tidegate/tmp")).unwrap().count(), 0);
}

#[tokio::test]
async fn two_sinks_with_one_id_are_refused() {
    let scratch = Scratch::new();
    ready(scratch.sink()).await;
    // The same id by another name, as a collision of hashes would give it.
    let path = scratch.root().join(crate::layout::log_key(1));
    let entry = std::fs::read_to_string(&path).unwrap().replace("shop/lake", "bazaar/lake");
    std::fs::write(&path, entry).unwrap();
    let error = scratch.sink().recover().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("\"bazaar/lake\""), "{error}");
}

#[tokio::test]
async fn a_lake_that_went_away_gets_no_entry_in_its_place() {
    let scratch = Scratch::new();
    let mut sink = ready(scratch.sink()).await;
    write(&mut sink, &insert(1)).await.unwrap();
    assert_eq!(sink.commit(&commit_to(100)).await.unwrap(), Outcome::Committed);
    let away = scratch.root().with_extension("away");
    std::fs::rename(scratch.root(), &away).unwrap();
    write(&mut sink, &insert(2)).await.unwrap();
    let error = sink.commit(&commit_to(200)).await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("log is gone"), "{error}");
    // Whatever was made in its place is not the lake; back again, it goes on.
    let _ = std::fs::remove_dir_all(scratch.root());
    std::fs::rename(&away, scratch.root()).unwrap();
    let mut sink = ready(scratch.sink()).await;
    write(&mut sink, &insert(2)).await.unwrap();
    assert_eq!(sink.commit(&commit_to(200)).await.unwrap(), Outcome::Committed);
    assert_eq!(scratch.ids().await, [1, 2]);
}

//! What stands in the files, read back by the parquet crate and by serde.

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tidegate_format::layout::FACTS;
use tidegate_model::sink::{Outcome, Part, Sink};
use tidegate_model::{DeadLetter, Refusal, RefusalCode, Stage};

use super::sample::{Event, Scratch, batch, commit_to, insert, ready, write};
use crate::{Format, ObjectSink};

fn read(path: &std::path::Path) -> arrow::array::RecordBatch {
    let file = std::fs::File::open(path).unwrap();
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert!(reader.next().is_none());
    batch
}

#[tokio::test]
async fn parquet_has_the_lake_layout() {
    let scratch = Scratch::new();
    let mut sink = ready(ObjectSink::new(scratch.config(Format::Parquet, "lake"))).await;
    let events =
        [Event::Insert(1), Event::Update(1, 1), Event::Update(1, 2), Event::Delete(2), Event::Insert(3)];
    write(&mut sink, &batch(100, &events)).await.unwrap();
    assert_eq!(sink.commit(&commit_to(100)).await.unwrap(), Outcome::Committed);

    let files = scratch.files().await;
    let rows = read(&scratch.root().join(&files[0].key));
    let names: Vec<_> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names[..3], ["id", "note", "total"]);
    assert_eq!(names[3..], FACTS);
    // The update that changes the key is a delete and an insert at one position.
    let operations: Vec<_> =
        rows.column_by_name("__op").unwrap().as_string::<i32>().iter().map(Option::unwrap).collect();
    assert_eq!(operations, ["c", "u", "d", "c", "d", "c"]);
    let idx = rows.column_by_name("__idx").unwrap().as_primitive::<Int64Type>();
    assert_eq!(idx.values(), &[0, 1, 2, 2, 3, 4]);
    let positions = rows.column_by_name("__pos").unwrap().as_string::<i32>();
    assert!(positions.iter().all(|pos| pos == Some("000001-0000000001-00000000000000000100")));
    let totals = rows.column_by_name("total").unwrap();
    assert_eq!(totals.data_type(), &DataType::Decimal128(20, 0));
    assert_eq!(totals.as_primitive::<Decimal128Type>().value(0), i128::from(u64::MAX - 1));
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    assert_eq!(rows.column_by_name("__commit_ts").unwrap().data_type(), &utc);
    assert_eq!(rows.column_by_name("__absent").unwrap().null_count(), 6);
    assert_eq!((files[0].rows, files[0].min.idx, files[0].max.idx), (6, 0, 4));
}

#[tokio::test]
async fn files_never_mix_modules_or_generations() {
    let scratch = Scratch::new();
    let mut sink = ready(ObjectSink::new(scratch.config(Format::Parquet, "lake"))).await;
    for (id, module, generation) in [(1, "a@1", 1), (2, "b@2", 1), (3, "a@1", 2), (4, "a@1", 1)] {
        let mut batch = insert(id);
        batch.module = module.into();
        batch.generation = generation;
        write(&mut sink, &batch).await.unwrap();
    }
    sink.commit(&commit_to(400)).await.unwrap();
    let files = scratch.files().await;
    let mut kinds: Vec<_> =
        files.iter().map(|file| (file.modules.join(","), file.generation, file.rows)).collect();
    kinds.sort();
    assert_eq!(kinds, [("a@1".into(), 1, 2), ("a@1".into(), 2, 1), ("b@2".into(), 1, 1)]);
}

#[tokio::test]
async fn memory_and_open_files_stay_bounded() {
    let scratch = Scratch::new();
    let mut config = scratch.config(Format::Parquet, "lake");
    config.memory_bytes = 64 << 10;
    config.max_open_files = 2;
    let mut sink = ready(ObjectSink::new(config)).await;
    for id in 0..60 {
        let mut batch = insert(id);
        batch.generation = u64::from(id as u32 % 3);
        write(&mut sink, &batch).await.unwrap();
    }
    sink.commit(&commit_to(6000)).await.unwrap();
    let files = scratch.files().await;
    assert_eq!(files.iter().map(|file| file.rows).sum::<u64>(), 60);
    assert!(files.len() > 3, "three generations shared two open files");
}

#[tokio::test]
async fn dead_letters_are_lines_of_the_same_log() {
    let scratch = Scratch::new();
    let mut sink = ready(ObjectSink::new(scratch.config(Format::JsonLines, "dead-letters"))).await;
    let refusal = Refusal {
        event: 0,
        code: RefusalCode::InvalidValue,
        column: Some("note".into()),
        message: "zero date".into(),
        texts: vec![(1, 1, "0000-00-00".into())],
    };
    let letter = DeadLetter {
        event: batch(100, &[Event::Update(1, 1)]),
        refusal,
        stage: Stage::Source,
        module: "".into(),
    };
    sink.write(Part::DeadLetter(&letter)).await.unwrap();
    let mut commit = commit_to(100);
    commit.dead_letters = 1;
    assert_eq!(sink.commit(&commit).await.unwrap(), Outcome::Committed);
    assert_eq!(sink.recover().await.unwrap().dead_letters, 1);

    let mut letters = Vec::new();
    scratch
        .lake()
        .await
        .dead_letters(&mut |letter| {
            letters.push(letter);
            Ok(())
        })
        .await
        .unwrap();
    let [letter] = &letters[..] else { panic!("one letter") };
    assert_eq!(letter.before.as_ref().unwrap()["note"], "note 1");
    let after = letter.after.as_ref().unwrap();
    assert_eq!(after["note"], "0000-00-00");
    assert_eq!(after["__text"], serde_json::json!(["note"]));
    assert_eq!(after["total"].to_string(), (u64::MAX - 1).to_string());
}

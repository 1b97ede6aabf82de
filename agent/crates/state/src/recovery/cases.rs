//! The rules of recovery, a case each.

use std::sync::Arc;

use tidegate_model::{
    Error, ErrorKind, Gtid, Held, HeldReason, Lineage, LogPosition, OpenTransaction, Scanned, TableName,
    TableSnapshot, Witness,
};

use super::*;

const T: TableUid = TableUid(1);

fn at(epoch: u32, offset: u64) -> Offset {
    let gtid = Gtid { domain: 0, server: 1, sequence: offset };
    let mut set = tidegate_model::GtidSet::default();
    set.advance(gtid);
    Offset {
        epoch,
        lineage: Lineage::MariaDb { domain: 0, server_id: 1, log_base: "binlog".into(), witness: None },
        scanned: Scanned { gtid: set, open: None, log: LogPosition { file_no: 1, offset } },
        snapshot: BTreeMap::new(),
        held: BTreeMap::new(),
        tables: BTreeMap::new(),
    }
}

fn chunks(mut offset: Offset, generation: u64, chunks: u64, done: bool) -> Offset {
    let upper = if chunks > 0 { vec![format!("{chunks}000")] } else { Vec::new() };
    offset.snapshot.insert(T, TableSnapshot { generation, chunks, upper, done });
    offset.tables.insert(T, Arc::new(TableName::new("shop", "orders")));
    offset
}

fn cut(mut offset: Offset, delivered: &[(u64, u64)]) -> Offset {
    let gtid = Gtid { domain: 0, server: 1, sequence: offset.scanned.log.offset + 1 };
    let delivered = delivered.iter().map(|(table, n)| (TableUid(*table), *n)).collect();
    offset.scanned.open = Some(OpenTransaction { gtid, delivered });
    offset
}

fn held(mut offset: Offset, from: u64, reason: HeldReason) -> Offset {
    let from = LogPosition { file_no: 1, offset: from };
    offset.held.insert(T, Held { from, reason, message: "x".into() });
    offset
}

/// A pipeline of a lake and its dead letters, the latter in the state folder.
#[derive(Default)]
struct Case {
    checkpoint: Option<(Offset, Vec<(&'static str, Offset)>)>,
    lake: Option<Offset>,
    dead: Option<Offset>,
    dead_letters: u64,
    keyed_state: bool,
    accept: bool,
}

impl Case {
    fn decide(self) -> Result<Decision> {
        let checkpoint = self.checkpoint.map(|(state_offset, sinks)| Checkpoint {
            state_offset,
            sinks: sinks.into_iter().map(|(name, offset)| (name.to_owned(), offset)).collect(),
            dead_letters: 0,
            counters: BTreeMap::new(),
        });
        let record = |offset| Recovered { offset, dead_letters: self.dead_letters, ..Recovered::default() };
        let (lake, dead) = (record(self.lake), record(self.dead));
        let known = Known {
            checkpoint: checkpoint.as_ref(),
            keyed_state: self.keyed_state,
            accept_state_loss: self.accept,
        };
        let sink = |name, recovered, in_state_folder| SinkRecord { name, recovered, in_state_folder };
        decide(known, &[sink("lake", &lake, false), sink("dead", &dead, true)])
    }

    fn resume(self) -> Resume {
        match self.decide().unwrap() {
            Decision::Resume(resume) => *resume,
            Decision::New => panic!("it resumes"),
        }
    }

    fn refused(self) -> Error {
        self.decide().unwrap_err()
    }
}

/// A living pipeline whose checkpoint names these copies of both sinks.
fn checkpoint(state: Offset, lake: Offset, dead: Offset) -> Option<(Offset, Vec<(&'static str, Offset)>)> {
    Some((state, vec![("lake", lake), ("dead", dead)]))
}

#[test]
fn nothing_known_is_new() {
    assert_eq!(Case::default().decide().unwrap(), Decision::New);
}

#[test]
fn the_lowest_sink_decides_whatever_the_copies_say() {
    let resume = Case {
        checkpoint: checkpoint(at(1, 10), at(1, 20), at(1, 10)),
        lake: Some(at(1, 50)),
        dead: Some(at(1, 40)),
        ..Case::default()
    }
    .resume();
    assert_eq!(resume.start, at(1, 40));
    assert_eq!((&resume.sinks["lake"], &resume.sinks["dead"]), (&at(1, 50), &at(1, 40)));
    assert!(!resume.state_lost && resume.removed.is_empty());
}

#[test]
fn keyed_state_reads_on_from_where_it_stands() {
    let resume = Case {
        checkpoint: checkpoint(at(1, 10), at(1, 20), at(1, 10)),
        lake: Some(at(1, 50)),
        dead: Some(at(1, 40)),
        keyed_state: true,
        ..Case::default()
    }
    .resume();
    assert_eq!(resume.start.scanned, at(1, 10).scanned);
}

#[test]
fn a_first_start_goes_on_from_its_position() {
    let start = Some((at(1, 7), Vec::new()));
    let resume = Case { checkpoint: start.clone(), ..Case::default() }.resume();
    assert_eq!(resume.start, at(1, 7), "no sink had it yet");
    let resume = Case { checkpoint: start, lake: Some(at(1, 7)), ..Case::default() }.resume();
    assert_eq!((&resume.start, &resume.sinks["dead"]), (&at(1, 7), &at(1, 7)), "one sink had it");
}

#[test]
fn a_sink_that_lost_its_commits_is_refused() {
    let lost = Case {
        checkpoint: checkpoint(at(1, 20), at(1, 50), at(1, 20)),
        lake: Some(at(1, 30)),
        dead: Some(at(1, 40)),
        ..Case::default()
    }
    .refused();
    assert_eq!(lost.exit_code(), 3);
    assert!(lost.to_string().contains("1:30") && lost.to_string().contains("1:50"), "{lost}");

    let gone = Case {
        checkpoint: checkpoint(at(1, 20), at(1, 50), at(1, 20)),
        dead: Some(at(1, 40)),
        ..Case::default()
    }
    .refused();
    assert_eq!(gone.exit_code(), 3);
    assert!(gone.to_string().contains("no record") && gone.to_string().contains("1:50"), "{gone}");

    let chunk_lost = Case {
        checkpoint: checkpoint(at(1, 20), chunks(at(1, 20), 1, 5, false), at(1, 20)),
        lake: Some(chunks(at(1, 20), 1, 4, false)),
        dead: Some(at(1, 20)),
        ..Case::default()
    };
    assert_eq!(chunk_lost.refused().exit_code(), 3);

    let state_ahead = Case {
        checkpoint: checkpoint(at(1, 45), at(1, 20), at(1, 20)),
        lake: Some(at(1, 40)),
        dead: Some(at(1, 50)),
        ..Case::default()
    };
    assert_eq!(state_ahead.refused().exit_code(), 3);
}

#[test]
fn a_higher_epoch_wins() {
    let set = Case {
        checkpoint: checkpoint(at(2, 5), at(1, 50), at(1, 40)),
        lake: Some(at(1, 50)),
        dead: Some(at(1, 40)),
        ..Case::default()
    }
    .resume();
    assert_eq!(set.start, at(2, 5), "`offsets set` went back");
    assert_eq!((&set.sinks["lake"], &set.sinks["dead"]), (&at(2, 5), &at(2, 5)));

    let half = Case {
        checkpoint: checkpoint(at(1, 40), at(1, 50), at(1, 40)),
        lake: Some(at(2, 5)),
        dead: Some(at(1, 45)),
        ..Case::default()
    }
    .resume();
    assert_eq!((&half.start, &half.sinks["dead"]), (&at(2, 5), &at(2, 5)), "the state file is an old copy");

    let went_back = Case {
        checkpoint: checkpoint(at(2, 5), at(2, 6), at(2, 6)),
        lake: Some(at(1, 50)),
        dead: Some(at(2, 6)),
        ..Case::default()
    };
    assert_eq!(went_back.refused().exit_code(), 3, "the copy shows that the sink was in the epoch");
}

#[test]
fn offsets_of_different_logs_are_never_compared() {
    let mut elsewhere = at(1, 60);
    elsewhere.lineage =
        Lineage::MariaDb { domain: 0, server_id: 2, log_base: "binlog".into(), witness: None };
    let mut diverged = at(1, 60);
    diverged.scanned.gtid = "0-1-30,1-1-5".parse().unwrap();
    let witnessed = |crc| {
        let mut offset = at(1, 60);
        let witness =
            Witness { gtid: "0-1-9".parse().unwrap(), crc, log: LogPosition { file_no: 1, offset: 9 } };
        offset.lineage =
            Lineage::MariaDb { domain: 0, server_id: 1, log_base: "binlog".into(), witness: Some(witness) };
        offset
    };
    for (one, other) in [(elsewhere, at(1, 50)), (diverged, at(1, 50)), (witnessed(1), witnessed(2))] {
        let error = Case {
            checkpoint: checkpoint(one.clone(), one.clone(), one.clone()),
            lake: Some(one),
            dead: Some(other),
            ..Case::default()
        }
        .refused();
        assert_eq!(error.exit_code(), 3);
    }
}

#[test]
fn a_lost_folder_is_rebuilt_unless_something_was_only_in_it() {
    let lost = |dead_letters, accept| Case { lake: Some(at(1, 50)), dead_letters, accept, ..Case::default() };
    let resume = lost(0, false).resume();
    assert!(resume.state_lost);
    assert_eq!((&resume.start, &resume.sinks["dead"]), (&at(1, 50), &at(1, 50)));
    let error = lost(3, false).refused();
    assert_eq!(error.exit_code(), 3);
    assert!(
        error.to_string().contains("3 dead letters") && error.to_string().contains("--accept-state-loss")
    );
    assert!(lost(3, true).resume().state_lost);

    let keyed = |accept| Case { lake: Some(at(1, 50)), keyed_state: true, accept, ..Case::default() };
    assert_eq!(keyed(false).refused().exit_code(), 3);
    assert!(keyed(true).resume().state_lost);

    let barrier = |from| Case { lake: Some(held(at(1, 50), from, HeldReason::Barrier)), ..Case::default() };
    assert_eq!(barrier(40).refused().exit_code(), 3, "rows behind it were spooled");
    assert!(barrier(50).resume().start.held.is_empty(), "rows behind it come again");
    let parked = Case { lake: Some(held(at(1, 50), 40, HeldReason::Parked)), ..Case::default() };
    assert_eq!(parked.resume().start.held.len(), 1);
}

#[test]
fn a_sink_added_later_is_not_guessed_at() {
    let added = Case {
        checkpoint: Some((at(1, 40), vec![("old", at(1, 40)), ("lake", at(1, 40))])),
        lake: Some(at(1, 40)),
        ..Case::default()
    }
    .refused();
    assert_eq!(added.kind(), ErrorKind::Unsupported);
    assert!(added.to_string().contains("'dead'") && added.to_string().contains("'old' is gone"), "{added}");
}

#[test]
fn a_removed_sink_is_told() {
    let resume = Case {
        checkpoint: Some((at(1, 30), vec![("old", at(1, 30)), ("lake", at(1, 40)), ("dead", at(1, 40))])),
        lake: Some(at(1, 40)),
        dead: Some(at(1, 40)),
        ..Case::default()
    }
    .resume();
    assert_eq!(resume.removed, ["old"]);
}

#[test]
fn an_open_transaction_counts_by_table() {
    let both = |lake, dead| Case {
        checkpoint: checkpoint(at(1, 30), at(1, 30), at(1, 30)),
        lake: Some(lake),
        dead: Some(dead),
        ..Case::default()
    };
    let resume = both(cut(at(1, 40), &[(1, 5), (2, 1)]), cut(at(1, 40), &[(1, 3), (2, 2)])).resume();
    assert_eq!(resume.start, cut(at(1, 40), &[(1, 3), (2, 1)]));
    let resume = both(cut(at(1, 40), &[(1, 5)]), at(1, 40)).resume();
    assert_eq!(resume.start, at(1, 40));
    let ahead = Case {
        checkpoint: checkpoint(at(1, 30), cut(at(1, 40), &[(1, 5)]), at(1, 30)),
        lake: Some(cut(at(1, 40), &[(1, 4)])),
        dead: Some(at(1, 40)),
        ..Case::default()
    };
    assert!(ahead.refused().to_string().contains("5 rows of 0-1-41"));
}

#[test]
fn snapshot_progress_is_what_all_sinks_have() {
    let both = |lake, dead| Case {
        checkpoint: checkpoint(at(1, 30), at(1, 30), at(1, 30)),
        lake: Some(lake),
        dead: Some(dead),
        ..Case::default()
    };
    let progress = |case: Case| case.resume().start.snapshot[&T].clone();
    let lower = progress(both(chunks(at(1, 40), 1, 5, false), chunks(at(1, 40), 1, 3, false)));
    assert_eq!((lower.generation, lower.chunks, &lower.upper[..]), (1, 3, &["3000".to_owned()][..]));
    let unknown = progress(both(chunks(at(1, 40), 1, 5, true), at(1, 40)));
    assert_eq!((unknown.generation, unknown.chunks, unknown.done), (1, 0, false));
    let reopened = progress(both(chunks(at(1, 40), 2, 1, false), chunks(at(1, 40), 1, 9, true)));
    assert_eq!((reopened.generation, reopened.chunks, reopened.done), (2, 0, false));
    let end_only = progress(both(chunks(at(1, 40), 1, 5, true), chunks(at(1, 40), 1, 5, false)));
    assert_eq!((end_only.chunks, end_only.done), (5, false));
}

#[test]
fn a_faster_sink_keeps_what_it_has_while_the_slower_one_catches_up() {
    let record = held(chunks(cut(at(1, 50), &[(1, 4)]), 2, 5, false), 45, HeldReason::Parked);
    let behind = accounted_by_either(&record, &chunks(cut(at(1, 40), &[(1, 9)]), 2, 3, false));
    assert_eq!(behind, record);
    let same = accounted_by_either(&record, &chunks(cut(at(1, 50), &[(1, 3), (2, 1)]), 2, 7, false));
    assert_eq!(same.scanned, cut(at(1, 50), &[(1, 4), (2, 1)]).scanned);
    assert_eq!((same.snapshot[&T].chunks, same.held.len()), (7, 0));
    let beyond = accounted_by_either(&record, &chunks(at(1, 60), 2, 3, false));
    assert_eq!((beyond.scanned, beyond.snapshot[&T].chunks), (at(1, 60).scanned, 5));
    let anew = accounted_by_either(&record, &chunks(at(1, 40), 3, 0, false));
    assert_eq!((anew.scanned, anew.snapshot[&T].generation, anew.held.len()), (record.scanned.clone(), 3, 0));
    assert_eq!(accounted_by_either(&record, &at(2, 10)), at(2, 10), "another epoch is another log");
}

#[test]
fn lost_chunk_bounds_begin_the_table_anew() {
    let uneven = Case {
        lake: Some(chunks(at(1, 40), 1, 5, false)),
        dead: Some(chunks(at(1, 40), 1, 3, false)),
        ..Case::default()
    }
    .resume();
    assert_eq!(uneven.snapshot_again, [T]);
    let progress = &uneven.start.snapshot[&T];
    assert_eq!((progress.generation, progress.chunks, progress.upper.len()), (2, 0, 0));

    // That start is written to the state file first; a crash before the sinks
    // have it must not fall back to the old generation.
    let again = Case {
        checkpoint: Some((uneven.start.clone(), Vec::new())),
        lake: Some(chunks(at(1, 40), 1, 5, false)),
        dead: Some(chunks(at(1, 40), 1, 3, false)),
        ..Case::default()
    }
    .resume();
    assert_eq!(again.start.snapshot[&T].generation, 2);
    assert_eq!(again.start.tables.len(), 1);

    let even = Case {
        lake: Some(chunks(at(1, 40), 1, 5, false)),
        dead: Some(chunks(at(1, 40), 1, 5, false)),
        ..Case::default()
    }
    .resume();
    assert!(even.snapshot_again.is_empty());
    assert_eq!(even.start.snapshot[&T].chunks, 5);
}

#[test]
fn a_chain_changed_at_start_begins_beyond_every_sink() {
    let log = |position: TxPosition| position.log.offset;
    assert_eq!(log(swap_boundary([&at(1, 40), &at(1, 50)])), 50);
    assert_eq!(log(swap_boundary([&cut(at(1, 50), &[(1, 1)]), &at(1, 50)])), 51, "the cut one stays old");
    assert_eq!(swap_boundary([&at(2, 5), &at(1, 50)]).epoch, 2);
}

#[test]
fn no_row_value_is_printed() {
    let lost = Case {
        checkpoint: checkpoint(at(1, 20), chunks(at(1, 50), 1, 7, false), at(1, 20)),
        lake: Some(chunks(at(1, 30), 1, 6, false)),
        dead: Some(at(1, 40)),
        ..Case::default()
    }
    .refused();
    assert!(!lost.to_string().contains("7000") && lost.to_string().contains("7 snapshot chunks"), "{lost}");
}

//! Damaged events: whatever the bytes, an error or a value, never a panic and
//! never more memory than the event's size allows.
//!
//! The checksum would catch all of it, so it is left out; this is about an
//! attacker in place of the server, and about our own mistakes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tidegate_model::BatchBuilder;

use crate::binlog::{Event, RawEvent, RowsEvent, TableMap};
use crate::captures::{ALL, raw_events, transaction, version_of};
use crate::codec::TableCodec;

/// xorshift64*: the same sequence for the same seed, everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound.max(1)
    }
}

/// Cuts, flips, overwrites or lengthens.
fn damage(body: &[u8], random: &mut Random) -> Vec<u8> {
    let mut body = body.to_vec();
    match random.below(4) {
        0 => body.truncate(random.below(body.len() + 1)),
        1 => {
            for _ in 0..=random.below(4) {
                let at = random.below(body.len());
                if let Some(byte) = body.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
        2 => {
            let at = random.below(body.len());
            let filler = [0, 1, 0x7f, 0x80, 0xfb, 0xfc, 0xfe, 0xff][random.below(8)];
            body.iter_mut().skip(at).take(1 + random.below(8)).for_each(|byte| *byte = filler);
        }
        _ => body.extend((0..random.below(9)).map(|n| n as u8)),
    }
    body
}

/// Decodes an event alone; row events by the last map.
fn feed(raw: RawEvent<'_>, map: Option<&TableMap>) -> Option<TableMap> {
    let raw = RawEvent { checksum: None, ..raw };
    let mut decoder = crate::binlog::Decoder::unchecked();
    match decoder.decode(raw).ok()?.event {
        Event::TableMap(event) => {
            let map = TableMap::parse(&event).ok()?;
            let _ = map.columns(&[]);
            Some(map)
        }
        Event::Rows(rows) => {
            decode(&rows, map?);
            None
        }
        _ => None,
    }
}

fn decode(rows: &RowsEvent<'_>, map: &TableMap) {
    if !map.is_full() {
        return;
    }
    let version = version_of(map, &[]);
    let Ok(codec) = TableCodec::new(&version, map) else { return };
    let mut builder = BatchBuilder::new(version.into(), 1);
    builder.transaction(transaction());
    if codec.decode_rows(rows, &mut builder, || Some((0, 0))).is_ok() {
        let batch = builder.finish();
        assert!(batch.is_none_or(|batch| batch.len() <= rows.images.len()));
    }
    let mut builder = BatchBuilder::new(codec.version().clone().into(), 1);
    let _ = codec.decode_rows(rows, &mut builder, || None);
}

#[test]
fn damaged_events_never_panic() {
    for (name, file) in ALL {
        let mut map: Option<TableMap> = None;
        for (index, raw) in raw_events(file).into_iter().enumerate() {
            for seed in 1..=400_u64 {
                let mut random = Random(seed << 20 | index as u64);
                let body = damage(raw.body, &mut random);
                let flags = if random.below(8) == 0 { random.below(1 << 16) as u16 } else { raw.flags };
                let damaged = RawEvent { body: &body, flags, ..raw };
                let fed = catch_unwind(AssertUnwindSafe(|| {
                    // A damaged map decodes the undamaged rows that follow, too.
                    if let Some(map) = feed(damaged, map.as_ref()) {
                        raw_events(file)[index + 1..].iter().take(2).for_each(|rows| {
                            feed(*rows, Some(&map));
                        });
                    }
                }));
                assert!(fed.is_ok(), "{name}, event {index} of type {}, seed {seed}", raw.type_code);
            }
            if let Some(read) = feed(raw, map.as_ref()) {
                map = Some(read);
            }
        }
    }
}

#[test]
fn damaged_headers_never_panic() {
    for (name, file) in ALL {
        for seed in 1..=2000_u64 {
            let mut random = Random(seed);
            let start = random.below(file.len());
            let bytes = damage(&file[start..(start + 200).min(file.len())], &mut random);
            let parsed = catch_unwind(|| RawEvent::parse(&bytes, seed % 2 == 0).map(|raw| raw.crc32()));
            assert!(parsed.is_ok(), "{name}, seed {seed}");
        }
    }
}

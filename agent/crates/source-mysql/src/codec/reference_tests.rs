//! `docs/reference/types.md` says what the code does: its tables are compared
//! with the columns that the captures' maps give.

use tidegate_model::{ErrorKind, TableUid, TableVersion};

use super::TableCodec;
use crate::binlog::{Event, TableMap, TypeHint};
use crate::captures::{capture, decoded, version_of};

const PAGE: &str = include_str!("../../../../../docs/reference/types.md");

/// The first `cells` cells of each row of the table under a heading.
fn table(heading: &str, cells: usize) -> Vec<Vec<String>> {
    let (_, section) =
        PAGE.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no '{heading}'"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|line| line.split('|').skip(1).take(cells).map(|cell| cell.trim().replace('`', "")).collect())
        .collect()
}

fn map_of(file: &str, table: &str) -> TableMap {
    let events = decoded(capture(file));
    let mut maps = events.iter().filter_map(|event| match &event.event {
        Event::TableMap(map) if map.names().unwrap().1 == table => Some(TableMap::parse(map).unwrap()),
        _ => None,
    });
    maps.next().unwrap_or_else(|| panic!("{table} has a map"))
}

#[test]
fn exact_types_are_as_the_page_says() {
    let map = map_of("types", "reference");
    let hints: Vec<_> =
        map.columns.iter().map(|c| (c.name.as_deref() == Some("b10")).then_some(TypeHint::Json)).collect();
    let version = version_of(&map, &hints);
    let code: Vec<Vec<String>> = (version.columns.iter())
        .map(|c| vec![c.source_type.clone(), c.data_type.to_string(), c.data_type.physical().to_string()])
        .collect();
    assert_eq!(table("Exact types", 3), code);
    TableCodec::new(&version, &map).unwrap();
}

#[test]
fn types_that_park_a_table_are_as_the_page_says() {
    let map = map_of("changes", "parked");
    let words: Vec<_> = table("Types that park their table", 1).into_iter().map(|row| row.concat()).collect();
    let mut found = Vec::new();
    for (index, column) in map.columns.iter().enumerate() {
        let hint = match column.name.as_deref() {
            Some("u") => TypeHint::of_type_word("uuid"),
            Some("i4") => TypeHint::of_type_word("inet4"),
            Some("i6") => TypeHint::of_type_word("INET6"),
            _ => None,
        };
        let hints: Vec<_> = (0..map.columns.len()).map(|n| hint.clone().filter(|_| n == index)).collect();
        let whole = version_of(&map, &hints);
        let mut single = map.clone();
        single.columns = vec![column.clone()];
        let columns = vec![whole.columns[index].clone()];
        let word = match columns[0].data_type.to_string() {
            text if text.starts_with("text sjis") => "text in another charset".into(),
            _ => columns[0].source_type.clone(),
        };
        let version = TableVersion::new(TableUid(1), whole.name.clone(), 1, columns, vec![]);
        match TableCodec::new(&version, &single) {
            Ok(_) => assert!(!words.contains(&word), "{word}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                found.push(word);
            }
        }
    }
    assert_eq!(words, found);
}

//! Finds the name that was meant.

/// ` (did you mean `x`?)` with the nearest candidate, or nothing when none is
/// near.
pub(crate) fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// The candidate with the fewest edits, at most a third of the name's length
/// and at least two.
fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(2);
    let scored = candidates.into_iter().map(|candidate| (distance(name, candidate), candidate));
    scored.filter(|(edits, _)| *edits <= limit).min_by_key(|(edits, _)| *edits).map(|(_, near)| near)
}

/// Levenshtein distance, one row at a time.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        assert_eq!(suggestion("renam", ["rename", "drop"]), " (did you mean `rename`?)");
        assert_eq!(
            suggestion("unlisted_colums", ["unlisted_columns", "unlisted_tables"]),
            " (did you mean `unlisted_columns`?)"
        );
        assert_eq!(suggestion("frobnicate", ["rename", "drop"]), "");
    }
}

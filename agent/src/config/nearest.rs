//! The known word that a misspelt one was meant to be.

/// The candidate with the fewest edits, if so few that a slip of the finger
/// explains them: a third of the word's letters, at least two.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(2);
    candidates
        .iter()
        .map(|candidate| (edits(word, candidate), *candidate))
        .filter(|(edits, candidate)| *edits <= limit && *edits < candidate.len())
        .min()
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one
/// word into the other (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitution = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitution.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let keys = ["host", "port", "tables", "heartbeat", "tls"];
        for (word, expected) in [
            ("tabels", Some("tables")),
            ("table", Some("tables")),
            ("hots", Some("host")),
            ("heart_beat", Some("heartbeat")),
            ("Port", Some("port")),
            ("compression", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, &keys), expected, "{word}");
        }
    }
}

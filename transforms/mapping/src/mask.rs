//! Masks a text character by character, so that its length stays.

use serde_json::Value;

use crate::keys::suggestion;

/// Which characters stay readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mask {
    keep_first: usize,
    keep_last: usize,
    with: char,
}

impl Mask {
    /// Parses `{keep_first: 1, keep_last: 4, with: "*"}`; every key is
    /// optional, and `{}` masks all characters.
    pub(crate) fn parse(value: &Value) -> Result<Self, String> {
        let map = value.as_object().ok_or("a mask is a map such as {keep_last: 4}")?;
        let mut mask = Self { keep_first: 0, keep_last: 0, with: '*' };
        for (key, value) in map {
            match key.as_str() {
                "keep_first" => mask.keep_first = count(key, value)?,
                "keep_last" => mask.keep_last = count(key, value)?,
                "with" => {
                    let mut characters = value.as_str().unwrap_or_default().chars();
                    let (Some(with), None) = (characters.next(), characters.next()) else {
                        return Err("`with` must be one character".into());
                    };
                    mask.with = with;
                }
                _ => {
                    let hint = suggestion(key, ["keep_first", "keep_last", "with"]);
                    return Err(format!("unknown key `{key}`{hint}"));
                }
            }
        }
        Ok(mask)
    }

    /// Appends the masked text. A text with no more characters than the mask
    /// keeps is masked whole: it would be shown whole otherwise.
    pub(crate) fn apply(&self, text: &str, out: &mut String) {
        let length = text.chars().count();
        let kept = self.keep_first.saturating_add(self.keep_last);
        let (first, last) =
            if length <= kept { (0, length) } else { (self.keep_first, length - self.keep_last) };
        let start = |character| text.char_indices().nth(character).map_or(text.len(), |(start, _)| start);
        out.push_str(&text[..start(first)]);
        out.extend(std::iter::repeat_n(self.with, last - first));
        out.push_str(&text[start(last)..]);
    }
}

fn count(key: &str, value: &Value) -> Result<usize, String> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| format!("`{key}` must be a number of characters"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(mask: Value, text: &str, expected: &str) {
        let mut out = String::new();
        Mask::parse(&mask).unwrap().apply(text, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn keeps_only_what_it_is_told_to() {
        check(json!({}), "secret", "******");
        check(json!({"keep_last": 4}), "4111111111111111", "************1111");
        check(json!({"keep_first": 1, "keep_last": 1, "with": "x"}), "añejo", "axxxo");
        check(json!({"keep_last": 4}), "abcd", "****");
        check(json!({"keep_last": 4}), "", "");
    }
}

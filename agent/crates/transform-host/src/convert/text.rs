//! Types that are text with a form of its own.

use serde::de::IgnoredAny;
use tidegate_model::DataType;

use super::Violation;

/// Checks one cell of a computed column.
///
/// # Errors
/// Text that is not a value of its type.
pub(super) fn check(data_type: &DataType, text: &str) -> Result<(), Violation> {
    match data_type {
        DataType::Uuid if !is_uuid(text) => Err(Violation::new("a uuid is not canonical lower-case text")),
        DataType::Json if serde_json::from_str::<IgnoredAny>(text).is_err() => {
            Err(Violation::new("a json cell is not valid JSON"))
        }
        _ => Ok(()),
    }
}

/// True when cells of this type need [`check`].
pub(super) fn has_form(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Uuid | DataType::Json)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert!(check(&DataType::Uuid, "6ccd780c-baba-1026-9564-5b8c656024db").is_ok());
        assert!(check(&DataType::Uuid, "6CCD780C-baba-1026-9564-5b8c656024db").is_err());
        assert!(check(&DataType::Json, "{\"a\": [1, null]}").is_ok());
        assert!(check(&DataType::Json, "{a}").is_err());
        assert!(check(&DataType::text(), "{a}").is_ok());
    }
}

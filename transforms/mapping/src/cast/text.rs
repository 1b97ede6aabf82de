//! Texts that have to be of a form.

use std::fmt::Write as _;

use serde_json::Value;

use super::decimal::Decimal;

/// Parses a float if the shortest text of the result names the same number,
/// so that nothing of what was written is lost. `NaN` and `Infinity` are
/// values of a float.
pub(crate) fn parse_float(text: &str, single: bool, scratch: &mut String) -> Option<f64> {
    scratch.clear();
    let value = if single {
        let value: f32 = text.parse().ok()?;
        write!(scratch, "{value}").ok()?;
        f64::from(value)
    } else {
        let value: f64 = text.parse().ok()?;
        write!(scratch, "{value}").ok()?;
        value
    };
    match Decimal::parse(text) {
        Some(written) => (value.is_finite() && written.equals(&Decimal::parse(scratch)?)).then_some(value),
        None => (!value.is_finite()).then_some(value),
    }
}

/// Whether a text is a UUID in its canonical form, of either case.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether a text is one JSON value.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

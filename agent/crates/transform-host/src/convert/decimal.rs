//! Decimals cross the boundary as text: every guest language can read it, and no
//! digit is lost.

use super::Violation;

/// Longest canonical text: sign, 38 digits, a leading zero, point.
const TEXT_MAX: usize = 42;

/// Appends the canonical text of an unscaled value: `-12.50`, exactly `scale`
/// digits behind the point.
pub(super) fn append(value: i128, scale: u8, out: &mut Vec<u8>) {
    let mut text = [b'0'; TEXT_MAX];
    let mut at = TEXT_MAX;
    let mut rest = value.unsigned_abs();
    let mut digits = 0;
    while rest > 0 || digits <= scale {
        if digits == scale && scale > 0 {
            at -= 1;
            text[at] = b'.';
        }
        at -= 1;
        // Dividing 128 bits is slow; most values fit in 64.
        let (quotient, digit) = match u64::try_from(rest) {
            Ok(small) => (u128::from(small / 10), (small % 10) as u8),
            Err(_) => (rest / 10, (rest % 10) as u8),
        };
        text[at] = b'0' + digit;
        rest = quotient;
        digits += 1;
    }
    if value < 0 {
        at -= 1;
        text[at] = b'-';
    }
    out.extend_from_slice(&text[at..]);
}

/// The parts of a decimal text that fits precision and scale: sign, digits in
/// front of the point without leading zeros, digits behind it.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
}

fn parts(text: &str, precision: u8, scale: u8) -> Result<Parts<'_>, Violation> {
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return Err(Violation::new("a decimal is digits with an optional sign and point"));
    }
    let (whole, kept) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    if kept.len() > usize::from(scale) || whole.len() > usize::from(precision - scale) {
        return Err(Violation::new(format!("a decimal does not fit decimal({precision},{scale})")));
    }
    Ok(Parts { negative, whole, fraction: kept })
}

/// The unscaled value of a text, exact.
///
/// # Errors
/// When it is no decimal, or does not fit.
pub(super) fn parse(text: &str, precision: u8, scale: u8) -> Result<i128, Violation> {
    let parts = parts(text, precision, scale)?;
    let padding = usize::from(scale) - parts.fraction.len();
    let digits = parts.whole.bytes().chain(parts.fraction.bytes()).map(|byte| i128::from(byte - b'0'));
    let value = digits.chain(std::iter::repeat_n(0, padding)).fold(0, |value, digit| value * 10 + digit);
    Ok(if parts.negative { -value } else { value })
}

/// The canonical text of a decimal of more than 38 digits, which the model keeps
/// as text.
///
/// # Errors
/// As [`parse`].
pub(super) fn canonical(text: &str, precision: u8, scale: u8) -> Result<String, Violation> {
    let Parts { negative, whole, fraction } = parts(text, precision, scale)?;
    let zero = whole.is_empty() && fraction.is_empty();
    let sign = if negative && !zero { "-" } else { "" };
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if scale > 0 { "." } else { "" };
    Ok(format!("{sign}{whole}{point}{fraction:0<width$}", width = usize::from(scale)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_value_are_exact() {
        let cases = [
            (-1250, 2, "-12.50"),
            (0, 0, "0"),
            (0, 3, "0.000"),
            (7, 2, "0.07"),
            (-7, 0, "-7"),
            (i128::from(u64::MAX) * 10 + 1, 1, "18446744073709551615.1"),
            (10i128.pow(38) - 1, 38, "0.99999999999999999999999999999999999999"),
            (-(10i128.pow(38) - 1), 0, "-99999999999999999999999999999999999999"),
        ];
        for (value, scale, text) in cases {
            let mut out = Vec::new();
            append(value, scale, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
            assert_eq!(parse(text, 38, scale), Ok(value));
            assert_eq!(canonical(text, 38, scale).as_deref(), Ok(text));
        }
    }

    #[test]
    fn other_spellings_are_taken_and_other_values_are_not() {
        assert_eq!(parse("007", 5, 2), Ok(700));
        assert_eq!(parse(".5", 5, 2), Ok(50));
        assert_eq!(parse("-0", 5, 2), Ok(0));
        assert_eq!(parse("1.2300", 5, 2), Ok(123));
        assert_eq!(canonical("-000.0", 50, 1).as_deref(), Ok("0.0"));
        for wrong in ["", "-", ".", "1.234", "1234", "+1", "1e3", "1,5", "--1", "１"] {
            assert!(parse(wrong, 5, 2).is_err(), "{wrong}");
        }
    }
}

//! Texts of dates, times, decimals and bytes, written into a buffer without
//! allocating: JSON lines write them once a cell.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Days since 1970-01-01 as `YYYY-MM-DD` (proleptic Gregorian, any year).
pub fn date(out: &mut Vec<u8>, days: i32) {
    let (year, month, day) = civil(i64::from(days));
    if (0..=9999).contains(&year) {
        digits(out, year as u64, 4);
    } else {
        out.extend_from_slice(format!("{year:+05}").as_bytes());
    }
    out.push(b'-');
    digits(out, month, 2);
    out.push(b'-');
    digits(out, day, 2);
}

/// µs since the epoch as `YYYY-MM-DDTHH:MM:SS.ffffff`; `zone` is appended
/// (`Z`, or nothing for a time without a zone).
pub fn datetime(out: &mut Vec<u8>, micros: i64, zone: &str) {
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let second_of_day = seconds.rem_euclid(SECONDS_PER_DAY) as u64;
    // In range: an i64 of microseconds is less than 2^31 days.
    date(out, seconds.div_euclid(SECONDS_PER_DAY) as i32);
    out.push(b'T');
    digits(out, second_of_day / 3600, 2);
    out.push(b':');
    digits(out, second_of_day / 60 % 60, 2);
    out.push(b':');
    digits(out, second_of_day % 60, 2);
    out.push(b'.');
    digits(out, micros.rem_euclid(MICROS_PER_SECOND) as u64, 6);
    out.extend_from_slice(zone.as_bytes());
}

/// An unscaled number with `scale` digits behind the point: `-12.50`.
pub fn decimal(out: &mut Vec<u8>, unscaled: i128, scale: u8) {
    // 39 digits and a zero in front of the point at most.
    let mut buffer = [b'0'; 48];
    let mut at = buffer.len();
    let mut rest = unscaled.unsigned_abs();
    let scale = usize::from(scale);
    let mut written = 0;
    while rest > 0 || written <= scale {
        // Most values fit 64 bits, where a division is several times cheaper.
        let digit = match u64::try_from(rest) {
            Ok(small) => {
                rest = u128::from(small / 10);
                small % 10
            }
            Err(_) => {
                let digit = (rest % 10) as u64;
                rest /= 10;
                digit
            }
        };
        at -= 1;
        buffer[at] = b'0' + digit as u8;
        written += 1;
        if written == scale {
            at -= 1;
            buffer[at] = b'.';
        }
    }
    if unscaled < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Standard base64 with padding.
pub fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written =
        STANDARD.encode_slice(bytes, &mut out[start..]).expect("the buffer has base64's exact size");
    debug_assert_eq!(start + written, out.len());
}

/// A number with leading zeros, exactly `width` digits.
fn digits(out: &mut Vec<u8>, mut number: u64, width: usize) {
    let start = out.len();
    out.resize(start + width, b'0');
    for place in out[start..].iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Year, month and day of a day number. Counted in eras of 400 years from the
/// first of March, so that the leap day comes last and every rule is a division.
fn civil(days: i64) -> (i64, u64, u64) {
    let days = days + 719_468; // 0000-03-01
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097) as u64;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era as i64 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dates_and_times() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_782, "2024-02-29"),
            (-719_528, "0000-01-01"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
        ] {
            assert_eq!(text(|out| date(out, days)), expected);
        }
        assert_eq!(text(|out| datetime(out, -1, "Z")), "1969-12-31T23:59:59.999999Z");
        assert_eq!(text(|out| datetime(out, 1_000_000, "")), "1970-01-01T00:00:01.000000");
    }

    #[test]
    fn every_day_follows_the_one_before_it() {
        let mut last = civil(-800_000);
        for days in -799_999..3_000_000 {
            let (year, month, day) = civil(days);
            let next_month = if last.1 == 12 { (last.0 + 1, 1, 1) } else { (last.0, last.1 + 1, 1) };
            assert!((year, month, day) == (last.0, last.1, last.2 + 1) || (year, month, day) == next_month);
            last = (year, month, day);
        }
    }

    #[test]
    fn decimals() {
        for (unscaled, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (-5, 2, "-0.05"),
            (1250, 2, "12.50"),
            (-7, 0, "-7"),
            (i128::MAX, 38, "1.70141183460469231731687303715884105727"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ] {
            assert_eq!(text(|out| decimal(out, unscaled, scale)), expected);
        }
    }

    #[test]
    fn bytes() {
        for (bytes, expected) in [(&b""[..], ""), (b"\0", "AA=="), (b"ab\xff", "YWL/")] {
            assert_eq!(text(|out| base64(out, bytes)), expected);
        }
    }
}

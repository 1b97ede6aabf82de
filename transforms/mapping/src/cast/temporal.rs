//! Dates and times between their texts and their counts: days since
//! 1970-01-01 and microseconds. The calendar is the proleptic Gregorian one, as
//! in the databases.

use std::fmt::Write as _;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Days of `YYYY-MM-DD`.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (number(&text[..4])?, number(&text[5..7])?, number(&text[8..])?);
    let days = days_from_civil(year, month, day);
    ((1..=12).contains(&month) && civil_from_days(days) == (year, month, day)).then_some(days)
}

/// Microseconds of `[-]h:mm:ss[.ffffff]`, up to the 838 hours of a MySQL TIME
/// and beyond.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (hours, rest) = text.split_once(':')?;
    let micros = number(hours)?.checked_mul(3_600 * SECOND)?.checked_add(minutes_and_seconds(rest)?)?;
    Some(if negative { -micros } else { micros })
}

/// Microseconds of a date and a time of day, with `T` or a space between.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let of_day = parse_time(time)?;
    let valid = (0..DAY).contains(&of_day) && !time.starts_with('-');
    valid.then_some(midnight(parse_date(date)?)? + of_day)
}

/// Microseconds in UTC of a timestamp with `Z` or an offset (`+02`, `+02:00`);
/// without one the moment is not known.
pub(crate) fn parse_timestamptz(text: &str) -> Option<i64> {
    if let Some(utc) = text.strip_suffix('Z') {
        return parse_timestamp(utc);
    }
    let sign = text.rfind(['+', '-']).filter(|at| *at > 10)?;
    let (local, offset) = text.split_at(sign);
    let (hours, minutes) = offset[1..].split_once(':').unwrap_or((&offset[1..], "00"));
    let (hours, minutes) = (two_digits(hours, 18)?, two_digits(minutes, 59)?);
    let ahead = (hours * 3_600 + minutes * 60) * SECOND;
    Some(parse_timestamp(local)? - if offset.starts_with('-') { -ahead } else { ahead })
}

/// The timestamp at the start of a day.
pub(crate) fn midnight(days: i64) -> Option<i64> {
    days.checked_mul(DAY)
}

/// The day that starts at a timestamp, if one does.
pub(crate) fn date_of_midnight(micros: i64) -> Option<i64> {
    (micros % DAY == 0).then_some(micros / DAY)
}

pub(crate) fn write_date(days: i64, out: &mut String) {
    let (year, month, day) = civil_from_days(days);
    write!(out, "{year:04}-{month:02}-{day:02}").expect("writing to a string cannot fail");
}

pub(crate) fn write_time(micros: i64, out: &mut String) {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    write!(out, "{sign}{hours:02}:{minutes:02}:{seconds:02}.{fraction:06}")
        .expect("writing to a string cannot fail");
}

pub(crate) fn write_timestamp(micros: i64, out: &mut String) {
    write_date(micros.div_euclid(DAY), out);
    out.push('T');
    write_time(micros.rem_euclid(DAY), out);
}

/// `mm:ss[.ffffff]`; digits beyond microseconds must be zero.
fn minutes_and_seconds(text: &str) -> Option<i64> {
    let (minutes, rest) = text.split_once(':')?;
    let (seconds, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let kept = fraction.get(..6).unwrap_or(fraction);
    let lost = fraction.get(6..).unwrap_or("");
    if lost.bytes().any(|digit| digit != b'0') {
        return None;
    }
    let micros = number(kept)? * 10_i64.pow(6 - u32::try_from(kept.len()).ok()?);
    Some((two_digits(minutes, 59)? * 60 + two_digits(seconds, 59)?) * SECOND + micros)
}

fn two_digits(text: &str, max: i64) -> Option<i64> {
    number(text).filter(|value| text.len() == 2 && *value <= max)
}

/// Digits only, at least one, without a sign.
fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Days since 1970-01-01 of a date, counted in 400-year eras that start in
/// March, so that the leap day is the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (month, day) = ((shifted + 2) % 12 + 1, day_of_year - (153 * shifted + 2) / 5 + 1);
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_round_trip_and_reject_what_no_calendar_has() {
        for days in [-719_162, -1, 0, 11_016, 20_786, 2_932_896] {
            let mut text = String::new();
            write_date(days, &mut text);
            assert_eq!(parse_date(&text), Some(days), "{text}");
        }
        assert_eq!(parse_date("2000-02-29"), Some(11_016));
        for text in
            ["0000-00-00", "2026-02-29", "2026-13-01", "2026-11-00", "2026-1-01", "26-11-29", " 2026-11-29"]
        {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_signed_and_exact() {
        assert_eq!(parse_time("-838:59:59"), Some(-3_020_399 * SECOND));
        assert_eq!(parse_time("00:00:00.5"), Some(500_000));
        assert_eq!(parse_time("00:00:00.1234560"), Some(123_456));
        for text in ["00:00:00.1234567", "24:60:00", "1:2:3", "12:00", "--01:00:00"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn a_timestamp_with_zone_needs_its_zone() {
        assert_eq!(parse_timestamp("1970-01-02 00:00:01"), Some(86_401 * SECOND));
        assert_eq!(parse_timestamptz("1970-01-01T02:00:00+02"), Some(0));
        assert_eq!(parse_timestamptz("1969-12-31T18:30:00.000000-05:30"), Some(0));
        assert_eq!(parse_timestamptz("1970-01-01T00:00:00Z"), Some(0));
        for text in ["1970-01-01T00:00:00", "1970-01-01T24:00:00Z", "1970-01-01T00:00:00+2"] {
            assert_eq!(parse_timestamptz(text), None, "{text}");
        }
    }
}

//! DATE, TIME, DATETIME and TIMESTAMP.
//!
//! The log packs them big-endian with an offset, so that bytes sort like values
//! (sql-common/my_time.c, `my_…_packed_from_binary`); DATE alone is
//! little-endian. The protocol hands out fields. Both become a [`Moment`] or a
//! count of microseconds before anything is appended.
//!
//! Dates that no calendar has (`0000-00-00`, `2024-00-10`, and `2024-02-30` under
//! ALLOW_INVALID_DATES) and the year 0, which readers of the lake do not know,
//! are refused with the server's text.

use tidegate_model::ColumnBuilder;

use super::cell::{CellError, WRONG_FORM};
use crate::binlog::{Bytes, Malformed};

const SECOND_US: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;
/// 838:59:59.999999, the longest TIME.
const TIME_US_MAX: i64 = (839 * 3600) * SECOND_US - 1;

/// Bytes that a fraction of so many digits takes in the log.
pub(super) fn fraction_bytes(fraction: u8) -> usize {
    usize::from(fraction.min(6)).div_ceil(2)
}

const NO_DATE: &str = "zero, partial or impossible date";

/// Calendar fields as the server stores them; they need not name a real day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) year: u16,
    pub(super) month: u8,
    pub(super) day: u8,
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    pub(super) micros: u32,
}

impl Moment {
    /// `0000-00-00 00:00:00`.
    const ZERO: Self = Self { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0, micros: 0 };

    /// 3 bytes: year, 4 bits month, 5 bits day.
    #[inline]
    pub(super) fn date_of_wire(bytes: &mut Bytes<'_>) -> Result<Self, Malformed> {
        let [a, b, c] = bytes.array("DATE")?;
        let packed = u32::from_le_bytes([a, b, c, 0]);
        Ok(Self {
            year: (packed >> 9) as u16,
            month: (packed >> 5 & 15) as u8,
            day: (packed & 31) as u8,
            ..Self::ZERO
        })
    }

    /// 5 bytes: sign, 17 bits year · 13 + month, 5 day, 5 hour, 6 minute,
    /// 6 second; then the fraction.
    #[inline]
    pub(super) fn date_time_of_wire(bytes: &mut Bytes<'_>, fraction: u8) -> Result<Self, Malformed> {
        let [a, b, c, d, e] = bytes.array("DATETIME")?;
        let packed = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
        let micros = micros_of_wire(bytes, fraction)?;
        // A DATETIME has no sign: the first bit is always set.
        let packed = packed.checked_sub(1 << 39).ok_or(Malformed("DATETIME"))?;
        let months = packed >> 22;
        Ok(Self {
            year: (months / 13) as u16,
            month: (months % 13) as u8,
            day: (packed >> 17 & 31) as u8,
            hour: (packed >> 12 & 31) as u8,
            minute: (packed >> 6 & 63) as u8,
            second: (packed & 63) as u8,
            micros,
        })
    }

    /// Appends a DATE.
    #[inline]
    pub(super) fn append_date(self, out: &mut ColumnBuilder) -> Result<(), CellError> {
        let ColumnBuilder::Date(out) = out else { return Err(WRONG_FORM) };
        match self.days() {
            Some(days) => out.append_value(days),
            None => return Err(CellError::refused(NO_DATE, self.date_text())),
        }
        Ok(())
    }

    /// Appends a DATETIME.
    #[inline]
    pub(super) fn append_date_time(self, fraction: u8, out: &mut ColumnBuilder) -> Result<(), CellError> {
        let ColumnBuilder::Timestamp(out) = out else { return Err(WRONG_FORM) };
        if self.hour > 23 || self.minute > 59 || self.second > 59 || self.micros >= SECOND_US as u32 {
            return Err(Malformed("DATETIME").into());
        }
        let Some(seconds) = self.seconds() else {
            return Err(CellError::refused(NO_DATE, self.date_time_text(fraction)));
        };
        out.append_value(seconds * SECOND_US + i64::from(self.micros));
        Ok(())
    }

    /// A TIMESTAMP as the log stores it: seconds and microseconds, the zero
    /// timestamp being the epoch. `None` when it is no moment.
    pub(super) fn since_epoch(self) -> Option<(i64, u32)> {
        if self == Self::ZERO { Some((0, 0)) } else { Some((self.seconds()?, self.micros)) }
    }

    /// Seconds since 1970-01-01 00:00:00; `None` when the date is none.
    #[inline]
    fn seconds(self) -> Option<i64> {
        let of_day = (i64::from(self.hour) * 60 + i64::from(self.minute)) * 60 + i64::from(self.second);
        Some(i64::from(self.days()?) * DAY_SECONDS + of_day)
    }

    /// Days since 1970-01-01; `None` when it is no day of the years 1 to 9999.
    ///
    /// Counted in years that begin in March, so that the leap day comes last.
    #[inline]
    fn days(self) -> Option<i32> {
        let (year, month, day) = (i32::from(self.year), i32::from(self.month), i32::from(self.day));
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let month_days = match month {
            2 => 28 + i32::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        if !(1..=9999).contains(&year) || !(1..=month_days).contains(&day) {
            return None;
        }
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let day_of_year = (153 * month + 2) / 5 + day - 1;
        // 719,468 days lie between 0000-03-01 and 1970-01-01.
        Some(year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468)
    }

    fn date_text(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    fn date_time_text(self, fraction: u8) -> String {
        let Self { hour, minute, second, micros, .. } = self;
        let mut text = format!("{} {hour:02}:{minute:02}:{second:02}", self.date_text());
        if fraction > 0 {
            let digits = format!("{micros:06}");
            text.push('.');
            text.push_str(&digits[..usize::from(fraction).min(6)]);
        }
        text
    }
}

/// The fraction behind a packed value: 0 to 3 bytes, counting 10⁻², 10⁻⁴ or 10⁻⁶.
#[inline]
fn micros_of_wire(bytes: &mut Bytes<'_>, fraction: u8) -> Result<u32, Malformed> {
    const WHAT: &str = "fraction of a second";
    let micros = match fraction {
        0 => 0,
        1 | 2 => u32::from(bytes.u8(WHAT)?) * 10_000,
        3 | 4 => u32::from(u16::from_be_bytes(bytes.array(WHAT)?)) * 100,
        _ => {
            let [a, b, c] = bytes.array(WHAT)?;
            u32::from_be_bytes([0, a, b, c])
        }
    };
    if i64::from(micros) < SECOND_US { Ok(micros) } else { Err(Malformed(WHAT)) }
}

/// TIME in signed microseconds: sign, 10 bits hour, 6 minute, 6 second, then
/// the fraction; the whole is negated for a negative time.
#[inline]
pub(super) fn time_of_wire(bytes: &mut Bytes<'_>, fraction: u8) -> Result<i64, Malformed> {
    const WHAT: &str = "TIME";
    let fraction_bytes = fraction_bytes(fraction);
    let cell = bytes.take(3 + fraction_bytes, WHAT)?;
    let packed = cell.iter().fold(0_i64, |value, &byte| value << 8 | i64::from(byte));
    let bits = 8 * fraction_bytes as u32;
    let signed = packed - (0x80_0000_i64 << bits);
    let value = signed.unsigned_abs();
    let (clock, part) = (value >> bits, value & ((1 << bits) - 1));
    let (hour, minute, second) = (clock >> 12 & 0x3ff, clock >> 6 & 63, clock & 63);
    let micros = part * [1, 10_000, 100, 1][fraction_bytes];
    if minute > 59 || second > 59 || micros >= SECOND_US as u64 {
        return Err(Malformed(WHAT));
    }
    let total = (((hour * 60 + minute) * 60 + second) * SECOND_US as u64 + micros) as i64;
    Ok(if signed < 0 { -total } else { total })
}

/// Appends a TIME.
#[inline]
pub(super) fn append_time(micros: i64, out: &mut ColumnBuilder) -> Result<(), CellError> {
    let ColumnBuilder::Int64(out) = out else { return Err(WRONG_FORM) };
    if micros.abs() > TIME_US_MAX {
        return Err(Malformed("TIME, longer than any").into());
    }
    out.append_value(micros);
    Ok(())
}

/// 4 bytes of seconds, then the fraction.
#[inline]
pub(super) fn timestamp_of_wire(bytes: &mut Bytes<'_>, fraction: u8) -> Result<(i64, u32), Malformed> {
    let seconds = u32::from_be_bytes(bytes.array("TIMESTAMP")?);
    Ok((seconds.into(), micros_of_wire(bytes, fraction)?))
}

/// Appends a TIMESTAMP. The zero timestamp is stored as the epoch itself, which
/// therefore is no value (`1970-01-01 00:00:00.5` is one).
#[inline]
pub(super) fn append_timestamp(
    seconds: i64,
    micros: u32,
    fraction: u8,
    out: &mut ColumnBuilder,
) -> Result<(), CellError> {
    let ColumnBuilder::Timestamp(out) = out else { return Err(WRONG_FORM) };
    if seconds == 0 && micros == 0 {
        return Err(CellError::refused(NO_DATE, Moment::ZERO.date_time_text(fraction)));
    }
    out.append_value(seconds * SECOND_US + i64::from(micros));
    Ok(())
}

//! DECIMAL: base-10⁹ digit groups in the log, decimal text by the protocol.
//!
//! In the log (strings/decimal.c, `decimal2bin`): the digits before the point,
//! grouped in nines from the point leftwards, then those behind it, grouped in
//! nines from the point rightwards; a full group takes 4 bytes big-endian, an
//! incomplete outer one fewer. The first bit is inverted, and for a negative
//! number every bit is, so that bytes sort like numbers.

use std::fmt::Write;

use tidegate_model::ColumnBuilder;

use super::cell::{CellError, WRONG_FORM};
use crate::binlog::{Bytes, Malformed};

/// Bytes of a group of 0 to 9 digits.
const GROUP_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// Powers of ten by the digits of a group.
const POWERS: [u32; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// A column of DECIMAL(precision, scale).
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal {
    /// Digits before the point.
    integral: usize,
    /// Digits behind it.
    scale: usize,
    /// Bytes of a cell.
    bytes: usize,
    /// More than 38 digits: the model has it as text.
    as_text: bool,
}

const WHAT: Malformed = Malformed("DECIMAL");

impl Decimal {
    /// `None` when no such DECIMAL can be.
    pub(super) fn new(precision: u8, scale: u8) -> Option<Self> {
        let (precision, scale) = (usize::from(precision), usize::from(scale));
        let integral = precision.checked_sub(scale).filter(|_| (1..=65).contains(&precision))?;
        let size = |digits: usize| digits / 9 * 4 + GROUP_BYTES[digits % 9];
        Some(Self { integral, scale, bytes: size(integral) + size(scale), as_text: precision > 38 })
    }

    /// Bytes of a cell in the log.
    pub(super) fn wire_bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a cell of a row image.
    pub(super) fn append_wire(
        &self,
        bytes: &mut Bytes<'_>,
        out: &mut ColumnBuilder,
    ) -> Result<(), CellError> {
        let cell = bytes.take(self.bytes, "DECIMAL")?;
        let negative = cell.first().ok_or(WHAT)? & 0x80 == 0;
        let mut groups = Groups::new(self, cell, negative);
        match out {
            ColumnBuilder::Decimal(out) if !self.as_text => {
                // 38 digits at most, each group below its power of ten: it cannot overflow.
                let mut value: i128 = 0;
                while let Some((group, width)) = groups.next()? {
                    value = value * i128::from(POWERS[width]) + i128::from(group);
                }
                out.append_value(if negative { -value } else { value });
                Ok(())
            }
            ColumnBuilder::Text(out) if self.as_text => {
                let mut text = String::with_capacity(68);
                while let Some((group, width)) = groups.next()? {
                    let _ = write!(text, "{group:0width$}");
                }
                let (integral, fraction) = text.split_at_checked(self.integral).ok_or(WHAT)?;
                let integral = integral.trim_start_matches('0');
                let zero = integral.is_empty() && fraction.bytes().all(|digit| digit == b'0');
                let sign = if negative && !zero { "-" } else { "" };
                let integral = if integral.is_empty() { "0" } else { integral };
                let point = if fraction.is_empty() { "" } else { "." };
                for part in [sign, integral, point, fraction] {
                    let _ = out.write_str(part);
                }
                out.append_value("");
                Ok(())
            }
            _ => Err(WRONG_FORM),
        }
    }

    /// Appends the protocol's text of a value.
    pub(super) fn append_text(&self, text: &[u8], out: &mut ColumnBuilder) -> Result<(), CellError> {
        let text = std::str::from_utf8(text).map_err(|_| WHAT)?;
        match out {
            ColumnBuilder::Decimal(out) if !self.as_text => {
                out.append_value(self.parse(text).ok_or(WHAT)?);
                Ok(())
            }
            ColumnBuilder::Text(out) if self.as_text => {
                out.append_value(text);
                Ok(())
            }
            _ => Err(WRONG_FORM),
        }
    }

    /// The unscaled value of `-12.30`.
    fn parse(&self, text: &str) -> Option<i128> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let (integral, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if fraction.len() != self.scale || integral.is_empty() || integral.len() > self.integral.max(1) {
            return None;
        }
        let mut value: i128 = 0;
        for digit in integral.bytes().chain(fraction.bytes()) {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
            value = value.checked_mul(10)?.checked_add(digit.into())?;
        }
        Some(if negative { -value } else { value })
    }
}

/// The digit groups of a cell, its sign undone on the way.
struct Groups<'a> {
    bytes: Bytes<'a>,
    /// All bits of a negative number's bytes are inverted.
    invert: u32,
    next: usize,
    integral: usize,
    total: usize,
}

impl<'a> Groups<'a> {
    fn new(decimal: &Decimal, cell: &'a [u8], negative: bool) -> Self {
        let invert = if negative { u32::MAX } else { 0 };
        let total = decimal.integral + decimal.scale;
        Self { bytes: Bytes(cell), invert, next: 0, integral: decimal.integral, total }
    }

    /// The next group's value and its number of digits.
    #[inline]
    fn next(&mut self) -> Result<Option<(u32, usize)>, Malformed> {
        let width = if self.next == self.total {
            return Ok(None);
        } else if self.next < self.integral {
            // The first group holds what is left over from nines.
            match (self.integral - self.next) % 9 {
                0 => 9,
                rest => rest,
            }
        } else {
            (self.total - self.next).min(9)
        };
        let size = GROUP_BYTES[width];
        let bytes = self.bytes.take(size, "DECIMAL")?;
        let raw = bytes.iter().fold(0, |value: u32, &byte| value << 8 | u32::from(byte));
        // The very first bit is inverted once more.
        let first = if self.next == 0 { 0x80 << (8 * (size - 1)) } else { 0 };
        let value = (raw ^ self.invert ^ first) & (u32::MAX >> (32 - 8 * size));
        self.next += width;
        if value < POWERS[width] { Ok(Some((value, width))) } else { Err(WHAT) }
    }
}

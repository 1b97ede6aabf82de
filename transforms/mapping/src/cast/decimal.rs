//! Decimal numbers as texts, of any length.

use tidegate_guest::DecimalType;

/// The digits of a number, borrowed from its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    exponent: i32,
}

impl<'t> Decimal<'t> {
    /// Parses `[+-]digits[.digits][e[+-]digits]` with at least one digit before
    /// the exponent and nothing around it.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let (negative, digits) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (digits, exponent) = match digits.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse().ok()?),
            None => (digits, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let some = !whole.is_empty() || !fraction.is_empty();
        (some && all_digits(whole) && all_digits(fraction)).then_some(Self {
            negative,
            whole,
            fraction,
            exponent,
        })
    }

    /// The number, if it has no fraction and is written without an exponent.
    pub(crate) fn whole(&self) -> Option<i128> {
        if self.exponent != 0 || self.fraction.bytes().any(|digit| digit != b'0') {
            return None;
        }
        self.whole.bytes().try_fold(0_i128, |value, digit| {
            let digit = i128::from(digit - b'0');
            value.checked_mul(10)?.checked_add(if self.negative { -digit } else { digit })
        })
    }

    /// Appends the number with exactly the scale of a type; `None` if digits
    /// would be lost or the precision does not suffice.
    pub(crate) fn write(&self, to: &DecimalType, out: &mut String) -> Option<()> {
        let (scale, precision) = (usize::from(to.scale), usize::from(to.precision));
        let whole = self.whole.trim_start_matches('0');
        let fraction = self.fraction.trim_end_matches('0');
        if self.exponent != 0 || fraction.len() > scale || whole.len() > precision - scale {
            return None;
        }
        if self.negative && !(whole.is_empty() && fraction.is_empty()) {
            out.push('-');
        }
        out.push_str(if whole.is_empty() { "0" } else { whole });
        if scale > 0 {
            out.push('.');
            out.push_str(fraction);
            out.extend(std::iter::repeat_n('0', scale - fraction.len()));
        }
        Some(())
    }

    /// Whether both texts name the same number.
    pub(crate) fn equals(&self, other: &Decimal<'_>) -> bool {
        let (zero, other_zero) = (self.is_zero(), other.is_zero());
        if zero || other_zero {
            return zero && other_zero;
        }
        let length = self.significant().count().max(other.significant().count());
        let pad = std::iter::repeat(b'0');
        self.negative == other.negative
            && self.point() == other.point()
            && self
                .significant()
                .chain(pad.clone())
                .take(length)
                .eq(other.significant().chain(pad).take(length))
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes())
    }

    fn significant(&self) -> impl Iterator<Item = u8> {
        self.digits().skip_while(|digit| *digit == b'0')
    }

    fn is_zero(&self) -> bool {
        self.digits().all(|digit| digit == b'0')
    }

    /// Where the point stands, counted from the first significant digit.
    fn point(&self) -> i64 {
        let leading = self.digits().take_while(|digit| *digit == b'0').count();
        self.whole.len() as i64 - leading as i64 + i64::from(self.exponent)
    }
}

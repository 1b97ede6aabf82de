//! Durations and sizes as people write them: `200ms`, `10s`, `5m`, `100MiB`.

use std::time::Duration;

const DURATION_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

const SIZE_UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// How a duration is written, for messages.
pub(super) const DURATION_FORM: &str = "write a whole number with ms, s, m, h or d, such as 200ms or 10s";

/// How a size is written, for messages.
pub(super) const SIZE_FORM: &str = "write a whole number with B, KiB, MiB or GiB, such as 100MiB";

/// A whole number directly followed by its unit; `None` for anything else.
pub(super) fn duration(text: &str) -> Option<Duration> {
    quantity(text, &DURATION_UNITS).map(Duration::from_millis)
}

/// A number of bytes; `None` for anything else.
pub(super) fn size(text: &str) -> Option<u64> {
    quantity(text, &SIZE_UNITS)
}

/// A number of bytes in the largest unit that it is a whole number of.
pub(super) fn shown(bytes: u64) -> String {
    let whole = |(_, factor): &&(&str, u64)| bytes > 0 && bytes.is_multiple_of(*factor);
    let (unit, factor) = SIZE_UNITS[..4].iter().rfind(whole).unwrap_or(&SIZE_UNITS[0]);
    format!("{} {unit}", bytes / factor)
}

fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_as_people_write_them() {
        for (bytes, text) in
            [(0, "0 B"), (1_025, "1025 B"), (64 << 10, "64 KiB"), (16 << 20, "16 MiB"), (1 << 40, "1024 GiB")]
        {
            assert_eq!(shown(bytes), text);
        }
    }

    #[test]
    fn durations() {
        for (text, ms) in [("200ms", 200), ("10s", 10_000), ("5m", 300_000), ("1 h", 3_600_000), ("0s", 0)] {
            assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "10", "s", "-1s", "1.5s", "1S", "10s ", "99999999999999999999s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [("1B", 1), ("64KiB", 65_536), ("100MiB", 104_857_600), ("1GB", 1_000_000_000)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["100", "100M", "1mib", "18446744073709551615GiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}

//! Character sets of MariaDB, by the collation ids that the log and the
//! protocol name them with.
//!
//! The bytes of a text cell are in the column's charset; we hand out UTF-8.
//! Exact are those whose every byte sequence we map as the server does:
//! utf8mb4, utf8mb3, ascii, and latin1, which is cp1252 with the five bytes
//! that cp1252 leaves open (81, 8D, 8F, 90, 9D) as the control characters of
//! the same number (measured: `CONVERT(c USING utf8mb4)` over all 256 bytes).
//! A column in any other charset is known by name and parks its table.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// UTF-8 of up to four bytes.
    Utf8mb4,
    /// UTF-8 of up to three bytes (`utf8` in older statements).
    Utf8mb3,
    /// Seven bits.
    Ascii,
    /// cp1252, as MariaDB has it.
    Latin1,
    /// No text at all.
    Binary,
    /// Known by name only.
    Other(&'static str),
    /// The server knows this collation id and we do not.
    Unknown(u32),
}

/// Charsets by collation id below 1024 (`information_schema.COLLATIONS` of
/// 10.11): first and last id, name. Ids that no collation has lie in gaps.
#[rustfmt::skip]
const COLLATIONS: &[(u32, u32, &str)] = &[
    (1, 1, "big5"), (2, 2, "latin2"), (3, 3, "dec8"), (4, 4, "cp850"), (5, 5, "latin1"), (6, 6, "hp8"),
    (7, 7, "koi8r"), (8, 8, "latin1"), (9, 9, "latin2"), (10, 10, "swe7"), (11, 11, "ascii"),
    (12, 12, "ujis"), (13, 13, "sjis"), (14, 14, "cp1251"), (15, 15, "latin1"), (16, 16, "hebrew"),
    (18, 18, "tis620"), (19, 19, "euckr"), (20, 20, "latin7"), (21, 21, "latin2"), (22, 22, "koi8u"),
    (23, 23, "cp1251"), (24, 24, "gb2312"), (25, 25, "greek"), (26, 26, "cp1250"), (27, 27, "latin2"),
    (28, 28, "gbk"), (29, 29, "cp1257"), (30, 30, "latin5"), (31, 31, "latin1"), (32, 32, "armscii8"),
    (33, 33, "utf8mb3"), (34, 34, "cp1250"), (35, 35, "ucs2"), (36, 36, "cp866"), (37, 37, "keybcs2"),
    (38, 38, "macce"), (39, 39, "macroman"), (40, 40, "cp852"), (41, 42, "latin7"), (43, 43, "macce"),
    (44, 44, "cp1250"), (45, 46, "utf8mb4"), (47, 49, "latin1"), (50, 52, "cp1251"), (53, 53, "macroman"),
    (54, 55, "utf16"), (56, 56, "utf16le"), (57, 57, "cp1256"), (58, 59, "cp1257"), (60, 61, "utf32"),
    (62, 62, "utf16le"), (63, 63, "binary"), (64, 64, "armscii8"), (65, 65, "ascii"), (66, 66, "cp1250"),
    (67, 67, "cp1256"), (68, 68, "cp866"), (69, 69, "dec8"), (70, 70, "greek"), (71, 71, "hebrew"),
    (72, 72, "hp8"), (73, 73, "keybcs2"), (74, 74, "koi8r"), (75, 75, "koi8u"), (77, 77, "latin2"),
    (78, 78, "latin5"), (79, 79, "latin7"), (80, 80, "cp850"), (81, 81, "cp852"), (82, 82, "swe7"),
    (83, 83, "utf8mb3"), (84, 84, "big5"), (85, 85, "euckr"), (86, 86, "gb2312"), (87, 87, "gbk"),
    (88, 88, "sjis"), (89, 89, "tis620"), (90, 90, "ucs2"), (91, 91, "ujis"), (92, 93, "geostd8"),
    (94, 94, "latin1"), (95, 96, "cp932"), (97, 98, "eucjpms"), (99, 99, "cp1250"), (101, 124, "utf16"),
    (128, 159, "ucs2"), (160, 183, "utf32"), (192, 223, "utf8mb3"), (224, 247, "utf8mb4"),
    (576, 578, "utf8mb3"), (608, 610, "utf8mb4"), (640, 642, "ucs2"), (672, 674, "utf16"),
    (736, 738, "utf32"),
];

/// Charsets of the UCA 14.0.0 collations, 256 ids each from 2048 on.
const UCA1400: [&str; 5] = ["utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32"];

/// Set in the id of a NOPAD collation; the rest is the padded one's id.
const NOPAD: u32 = 1024;

/// latin1's bytes 80 to 9F.
#[rustfmt::skip]
const LATIN1_UPPER: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Charset {
    /// The charset of a collation.
    pub fn of_collation(id: u32) -> Self {
        let name = if id >= 2 * NOPAD {
            UCA1400.get((id as usize - 2048) / 256).copied()
        } else {
            let id = id % NOPAD;
            let after = COLLATIONS.partition_point(|&(first, ..)| first <= id);
            let range = after.checked_sub(1).map(|index| COLLATIONS[index]);
            range.filter(|&(_, last, _)| id <= last).map(|(.., name)| name)
        };
        name.map_or(Self::Unknown(id), Self::known)
    }

    /// The charset of this name, as the catalog spells it.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = if name == "utf8" { "utf8mb3" } else { name };
        COLLATIONS.iter().find(|(.., known)| *known == name).map(|(.., known)| Self::known(known))
    }

    fn known(name: &'static str) -> Self {
        match name {
            "utf8mb4" => Self::Utf8mb4,
            "utf8mb3" => Self::Utf8mb3,
            "ascii" => Self::Ascii,
            "latin1" => Self::Latin1,
            "binary" => Self::Binary,
            other => Self::Other(other),
        }
    }

    /// Name as the catalog spells it; `unknown` when only an id is known.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8mb4 => "utf8mb4",
            Self::Utf8mb3 => "utf8mb3",
            Self::Ascii => "ascii",
            Self::Latin1 => "latin1",
            Self::Binary => "binary",
            Self::Other(name) => name,
            Self::Unknown(_) => "unknown",
        }
    }

    /// Bytes of its longest character; `None` where we do not decode it.
    pub fn bytes_per_char(self) -> Option<u32> {
        match self {
            Self::Utf8mb4 => Some(4),
            Self::Utf8mb3 => Some(3),
            Self::Ascii | Self::Latin1 | Self::Binary => Some(1),
            Self::Other(_) | Self::Unknown(_) => None,
        }
    }

    /// The text of these bytes, or `None` when they are not valid in it. Zero-copy
    /// where the charset is a part of UTF-8.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Latin1 if !bytes.is_ascii() => {
                Some(Cow::Owned(bytes.iter().copied().map(latin1_char).collect()))
            }
            Self::Latin1 => Self::Ascii.decode_utf8(bytes).map(Cow::Borrowed),
            charset => charset.decode_utf8(bytes).map(Cow::Borrowed),
        }
    }

    /// The same for the charsets that are a part of UTF-8; `None` for others.
    #[inline]
    pub(crate) fn decode_utf8(self, bytes: &[u8]) -> Option<&str> {
        let text = std::str::from_utf8(bytes).ok()?;
        let is_valid = match self {
            Self::Utf8mb4 => true,
            // A character of four bytes begins with F0 or more.
            Self::Utf8mb3 => text.bytes().all(|byte| byte < 0xf0),
            Self::Ascii => text.is_ascii(),
            Self::Latin1 | Self::Binary | Self::Other(_) | Self::Unknown(_) => false,
        };
        is_valid.then_some(text)
    }

    /// The text of a statement: what is not valid in the charset is replaced.
    pub fn decode_lossy(self, bytes: &[u8]) -> Cow<'_, str> {
        self.decode(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes))
    }

    /// Appends latin1 bytes as UTF-8.
    ///
    /// # Errors
    /// When the writer fails.
    pub(crate) fn write_latin1(bytes: &[u8], out: &mut impl Write) -> fmt::Result {
        match Self::Ascii.decode_utf8(bytes) {
            Some(text) => out.write_str(text),
            None => bytes.iter().try_for_each(|&byte| out.write_char(latin1_char(byte))),
        }
    }
}

fn latin1_char(byte: u8) -> char {
    match byte {
        0x80..=0x9f => LATIN1_UPPER[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(id) => write!(f, "collation {id}"),
            known => f.write_str(known.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collations_name_their_charset() {
        for (id, name) in [
            (8, "latin1"),
            (45, "utf8mb4"),
            (83, "utf8mb3"),
            (224, "utf8mb4"),
            (247, "utf8mb4"),
            (63, "binary"),
            (13, "sjis"),
            (1032, "latin1"),
            (1107, "utf8mb3"),
            (2048, "utf8mb3"),
            (2503, "utf8mb4"),
            (3271, "utf32"),
            (255, "unknown"),
            (0, "unknown"),
            (5000, "unknown"),
        ] {
            assert_eq!(Charset::of_collation(id).name(), name, "{id}");
        }
        assert_eq!(Charset::of_name("utf8"), Some(Charset::Utf8mb3));
        assert_eq!(Charset::of_name("klingon"), None);
    }

    #[test]
    fn latin1_is_cp1252_with_its_gaps_filled() {
        let text = Charset::Latin1.decode(&[0x41, 0x80, 0x81, 0x9f, 0xa0, 0xff]);
        assert_eq!(text.as_deref(), Some("A€\u{81}Ÿ\u{a0}ÿ"));
    }

    #[test]
    fn what_is_not_valid_is_not_text() {
        assert_eq!(Charset::Ascii.decode(&[0x80]), None);
        assert_eq!(Charset::Utf8mb3.decode("😀".as_bytes()), None);
        assert_eq!(Charset::Utf8mb4.decode(&[0xed, 0xa0, 0x80]), None);
        assert_eq!(Charset::Utf8mb4.decode("😀".as_bytes()).as_deref(), Some("😀"));
    }
}

//! Reading little-endian fields out of an event, never past its end.

use std::fmt;

/// An event's bytes are not what its type promises: a field that ran out of
/// bytes, or a value that it cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// What is left to read. Every method names what it reads, for the error.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// True when nothing is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Malformed(what))?;
        self.0 = rest;
        Ok(head)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed(what))?;
        self.0 = rest;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    /// When none is left.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// Two bytes, little-endian.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        self.array(what).map(u16::from_le_bytes)
    }

    /// Four bytes, little-endian.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// Six bytes, little-endian: a table id.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn u48(&mut self, what: &'static str) -> Result<u64, Malformed> {
        let [a, b, c, d, e, f] = self.array(what)?;
        Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Eight bytes, little-endian.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A length-encoded integer as memory sizes use it.
    ///
    /// # Errors
    /// When it is cut, has the NULL marker, or does not fit memory.
    #[inline]
    pub fn length(&mut self, what: &'static str) -> Result<usize, Malformed> {
        let value = match self.u8(what)? {
            short @ 0..=250 => u64::from(short),
            252 => self.u16(what)?.into(),
            253 => {
                let [a, b, c] = self.array(what)?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            254 => self.u64(what)?,
            _ => return Err(Malformed(what)),
        };
        usize::try_from(value).map_err(|_| Malformed(what))
    }

    /// A string behind its length-encoded length.
    ///
    /// # Errors
    /// When it is cut.
    #[inline]
    pub fn counted(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let length = self.length(what)?;
        self.take(length, what)
    }

    /// The bytes behind a plain length of `prefix` bytes, 1 to 4.
    ///
    /// # Errors
    /// When they are cut.
    #[inline]
    pub fn prefixed(&mut self, prefix: u8, what: &'static str) -> Result<&'a [u8], Malformed> {
        let length = match prefix {
            1 => self.u8(what)?.into(),
            2 => self.u16(what)?.into(),
            3 => {
                let [a, b, c] = self.array(what)?;
                u32::from_le_bytes([a, b, c, 0])
            }
            4 => self.u32(what)?,
            _ => return Err(Malformed(what)),
        };
        self.take(length as usize, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_field_is_an_error_and_takes_nothing() {
        let mut bytes = Bytes(&[1, 2, 3]);
        assert_eq!(bytes.u32("count"), Err(Malformed("count")));
        assert_eq!(bytes.u16("count"), Ok(0x0201));
        assert_eq!(bytes.take(2, "tail"), Err(Malformed("tail")));
        assert_eq!(bytes.take(1, "tail"), Ok(&[3][..]));
        assert!(bytes.is_empty());
    }

    #[test]
    fn lengths_have_four_forms() {
        for (form, value) in [
            (&[250][..], 250),
            (&[252, 251, 0], 251),
            (&[253, 0, 0, 1], 0x01_0000),
            (&[254, 1, 0, 0, 0, 1, 0, 0, 0], 0x1_0000_0001),
        ] {
            assert_eq!(Bytes(form).length("length"), Ok(value));
        }
        assert!(Bytes(&[251]).length("length").is_err());
        assert!(Bytes(&[255]).length("length").is_err());
    }
}

//! MariaDB's GTID positions, as far as tests compare them.

use std::collections::BTreeMap;
use std::fmt;

/// A GTID position: the last transaction of every replication domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gtids {
    /// Domain to server and sequence number.
    last: BTreeMap<u32, (u32, u64)>,
}

impl Gtids {
    /// Reads the form `domain-server-sequence[,…]`.
    ///
    /// # Panics
    /// On any other text.
    pub fn parse(text: &str) -> Self {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let last = parts.map(|part| parse_one(part).unwrap_or_else(|| panic!("not a GTID: '{part}'")));
        Self { last: last.collect() }
    }

    /// Whether a reader at this position has everything that one at `other` has.
    pub fn reached(&self, other: &Self) -> bool {
        other
            .last
            .iter()
            .all(|(domain, (_, sequence))| self.last.get(domain).is_some_and(|(_, have)| have >= sequence))
    }
}

fn parse_one(text: &str) -> Option<(u32, (u32, u64))> {
    let mut numbers = text.split('-');
    let gtid =
        (numbers.next()?.parse().ok()?, (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?));
    numbers.next().is_none().then_some(gtid)
}

impl fmt::Display for Gtids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (domain, (server, sequence))) in self.last.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{domain}-{server}-{sequence}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Gtids;

    #[test]
    fn is_reached_when_every_domain_is() {
        let check = |have: &str, want: &str, reached: bool| {
            assert_eq!(Gtids::parse(have).reached(&Gtids::parse(want)), reached, "{have} after {want}");
        };
        check("", "", true);
        check("0-1-5", "", true);
        check("", "0-1-5", false);
        check("0-1-5", "0-1-5", true);
        check("0-2-6", "0-1-5", true);
        check("0-1-4", "0-1-5", false);
        check("0-1-10", "0-1-9", true);
        check("0-1-5", "0-1-5,1-1-1", false);
        check("0-1-5,1-1-1", "1-1-1", true);
    }

    #[test]
    fn is_shown_as_it_was_read() {
        assert_eq!(Gtids::parse("0-1-5,3-7-9").to_string(), "0-1-5,3-7-9");
    }
}

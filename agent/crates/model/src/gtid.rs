//! MariaDB global transaction ids and sets of them.
//!
//! A MariaDB GTID is `domain-server-sequence`; a position is one GTID per
//! domain, the last one of it (MariaDB manual, "Global Transaction ID").
//! Resuming needs every domain, also those that are idle, so the set is a map
//! and never just "the last seen".

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// One MariaDB transaction id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gtid {
    /// Replication domain.
    pub domain: u32,
    /// The server on which the transaction first ran.
    pub server: u32,
    /// Sequence number, growing within the domain.
    pub sequence: u64,
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

impl FromStr for Gtid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parts = text.split('-');
        let gtid = (|| {
            let domain = parts.next()?.parse().ok()?;
            let server = parts.next()?.parse().ok()?;
            let sequence = parts.next()?.parse().ok()?;
            parts.next().is_none().then_some(Self { domain, server, sequence })
        })();
        gtid.ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("{text:?} is not a MariaDB GTID"))
                .hint("write domain-server-sequence, such as 0-1-42")
        })
    }
}

/// A MariaDB GTID position: the last transaction of each domain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct GtidSet(BTreeMap<u32, Gtid>);

impl GtidSet {
    /// Notes that this transaction is the newest of its domain.
    pub fn advance(&mut self, gtid: Gtid) {
        self.0.insert(gtid.domain, gtid);
    }

    /// True when the position lies at or behind this one in every domain
    /// ("equal" counts as contained).
    pub fn covers(&self, gtid: &Gtid) -> bool {
        self.0.get(&gtid.domain).is_some_and(|own| own.sequence >= gtid.sequence)
    }

    /// The domains' newest transactions, by domain.
    pub fn iter(&self) -> impl Iterator<Item = &Gtid> {
        self.0.values()
    }

    /// True for a log that has no transaction yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, gtid) in self.0.values().enumerate() {
            write!(f, "{}{gtid}", if n == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for GtidSet {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut set = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let gtid: Gtid = part.parse()?;
            if set.0.insert(gtid.domain, gtid).is_some() {
                return Err(Error::new(
                    ErrorKind::Config,
                    format!("GTID domain {} stands twice", gtid.domain),
                ));
            }
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in ["", "0-1-42", "0-1-42,3-7-18446744073709551615"] {
            assert_eq!(text.parse::<GtidSet>().unwrap().to_string(), text);
        }
        for text in ["0-1", "0-1-2-3", "a-1-2", "0-1-2,0-2-3"] {
            assert!(text.parse::<GtidSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn covers_by_domain() {
        let set: GtidSet = "0-1-42,1-1-5".parse().unwrap();
        assert!(set.covers(&"0-9-42".parse().unwrap()));
        assert!(!set.covers(&"1-1-6".parse().unwrap()));
        assert!(!set.covers(&"2-1-1".parse().unwrap()));
    }
}

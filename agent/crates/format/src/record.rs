//! What every record that outlives a process has in common: it is JSON, and it
//! says its own version.
//!
//! A reader accepts every version up to its own and refuses a newer one by name,
//! so that a downgrade stops before it misreads anything. Within a version,
//! fields are only ever added, each with a default; unknown ones are ignored.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tidegate_model::{Error, ErrorKind, Result};

/// A record with a version of its own.
pub trait Record: Serialize + DeserializeOwned {
    /// What it is, for messages: `offset`, `log entry`.
    const NAME: &'static str;
    /// The version that this build writes, and the newest that it reads.
    const VERSION: u32;
}

/// The record as one line of JSON without the line's end.
///
/// # Errors
/// `Internal` when it cannot be expressed, which no record of this crate can
/// bring about.
pub fn encode<T: Record>(record: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(record).map_err(|error| {
        Error::new(ErrorKind::Internal, format!("{} cannot be written as JSON", T::NAME)).because(error)
    })
}

/// The record in these bytes.
///
/// # Errors
/// `Refused` when a newer version wrote it, `Corrupt` when it does not parse.
pub fn decode<T: Record>(bytes: &[u8]) -> Result<T> {
    #[derive(Deserialize)]
    struct Stamp {
        version: u32,
    }
    let stamp: Stamp = serde_json::from_slice(bytes).map_err(|error| corrupt::<T>(&error))?;
    if stamp.version == 0 || stamp.version > T::VERSION {
        return Err(Error::new(
            ErrorKind::Refused,
            format!("{} has format version {}, this build reads 1 to {}", T::NAME, stamp.version, T::VERSION),
        )
        .hint("run the newer tidegate that wrote it"));
    }
    serde_json::from_slice(bytes).map_err(|error| corrupt::<T>(&error))
}

/// Only the place of a fault is told: serde's own message may quote a value.
fn corrupt<T: Record>(error: &serde_json::Error) -> Error {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "ends too early",
        serde_json::error::Category::Syntax => "is not JSON",
        _ => "lacks a field or has one of the wrong type",
    };
    Error::new(
        ErrorKind::Corrupt,
        format!("{} {what} at line {} column {}", T::NAME, error.line(), error.column()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Sample {
        version: u32,
        count: u64,
    }

    impl Record for Sample {
        const NAME: &'static str = "sample";
        const VERSION: u32 = 2;
    }

    #[test]
    fn newer_versions_are_refused_and_older_ones_read() {
        assert_eq!(decode::<Sample>(br#"{"version":1,"count":7,"new":true}"#).unwrap().count, 7);
        let newer = decode::<Sample>(br#"{"version":3,"counts":[7]}"#).unwrap_err();
        assert_eq!(newer.kind(), ErrorKind::Refused);
        assert!(newer.to_string().contains("version 3, this build reads 1 to 2"), "{newer}");
    }

    #[test]
    fn a_damaged_record_is_told_without_its_values() {
        let error = decode::<Sample>(br#"{"version":1,"count":"secret"}"#).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

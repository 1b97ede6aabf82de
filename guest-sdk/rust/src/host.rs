//! What a transform may ask of the host: logging, metrics, keyed state and
//! lookups. The functions are those of the contract; in native tests they go
//! to [`testing::host`](crate::testing::host), which tests can look into.
//!
//! State and lookups take keys in bulk: ask once per batch, not once per row.
//! Their errors convert into the right [`BatchError`], so `?` does what the
//! contract asks for.

#[cfg(target_family = "wasm")]
pub use crate::bindings::tidegate::transform::{log, lookup, metrics, state};
#[cfg(not(target_family = "wasm"))]
pub use crate::testing::host::{log, lookup, metrics, state};

use crate::bindings::tidegate::transform::{lookup::Error as LookupError, state::Error as StateError};
use crate::{BatchError, Packed};

/// Packs keys for [`state`].
pub fn pack<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Packed {
    let mut packed = Packed { offsets: vec![0], bytes: Vec::new() };
    for key in keys {
        packed.bytes.extend_from_slice(key.as_ref());
        packed.offsets.push(u32::try_from(packed.bytes.len()).expect("keys of a batch below 4 GiB"));
    }
    packed
}

impl From<StateError> for BatchError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Denied(space) => BatchError::Fatal(format!("state space not granted: {space}")),
            StateError::Quota(limit) => BatchError::Permanent(format!("state quota exceeded: {limit}")),
            StateError::Unavailable(cause) => BatchError::Transient(cause),
        }
    }
}

impl From<LookupError> for BatchError {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Denied(table) => BatchError::Fatal(format!("lookup not granted: {table}")),
            LookupError::NoSuchTable(table) => BatchError::Fatal(format!("no such lookup table: {table}")),
            LookupError::NoSuchColumn(column) => {
                BatchError::Fatal(format!("no such lookup column: {column}"))
            }
            LookupError::Unavailable(cause) => BatchError::Transient(cause),
        }
    }
}

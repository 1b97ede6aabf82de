//! Who this pipeline is towards a database server.
//!
//! A MariaDB or MySQL server drops a replica's connection as soon as another one
//! comes with the same `server_id`. A number derived from the pipeline's name
//! alone would let a copied configuration throw its original out again and
//! again, so random bytes of the state folder take part.

use redb::{ReadableTable, WriteTransaction};
use tidegate_model::Result;

use crate::store::failed;
use crate::tables::{IDENTITY, META};

/// Random bytes of a state folder, drawn once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity([u8; 16]);

impl Identity {
    /// The stored one; drawn and stored when there is none.
    pub(crate) fn load_or_draw(transaction: &WriteTransaction) -> Result<Self> {
        let mut meta = transaction.open_table(META).map_err(failed)?;
        let stored =
            meta.get(IDENTITY).map_err(failed)?.and_then(|bytes| <[u8; 16]>::try_from(bytes.value()).ok());
        let bytes = match stored {
            Some(bytes) => bytes,
            None => {
                let drawn = uuid::Uuid::new_v4().into_bytes();
                meta.insert(IDENTITY, &drawn[..]).map_err(failed)?;
                drawn
            }
        };
        Ok(Self(bytes))
    }

    /// A `server_id` for this pipeline: stable, and in the upper half of the
    /// range, where people seldom number their servers.
    pub(crate) fn server_id(self, pipeline: &str) -> u32 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(pipeline.as_bytes());
        let hash = hasher.finalize();
        let [a, b, c, d, ..] = *hash.as_bytes();
        u32::from_le_bytes([a, b, c, d]) | 1 << 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_depends_on_pipeline_and_folder() {
        let one = Identity([1; 16]);
        assert_eq!(one.server_id("shop"), one.server_id("shop"));
        assert_ne!(one.server_id("shop"), one.server_id("shop2"));
        assert_ne!(one.server_id("shop"), Identity([2; 16]).server_id("shop"));
        assert!(one.server_id("shop") >= 1 << 31);
    }
}

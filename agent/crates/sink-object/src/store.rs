//! What the sink needs of a store: five operations, one of them atomic.

use std::path::Path;

use async_trait::async_trait;
use tidegate_model::Result;

/// Takes the keys of a listing, one at a time.
pub type KeyVisitor<'a> = dyn FnMut(&str) + Send + 'a;

/// How a [`Store::put_if_absent`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The object is durable, and it is ours.
    Created,
    /// An object was there already; it is durable, too.
    Exists,
}

/// A place for objects with keys, `/` between their parts.
///
/// **Durable when.** A put has returned `Ok`. **After an error** of
/// [`put_if_absent`](Self::put_if_absent) nobody knows whether the object is
/// there; [`get`](Self::get) tells. **Concurrency.** Any number of writers on any
/// number of machines, through stores of their own.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The object's bytes, `None` when there is none.
    ///
    /// # Errors
    /// `Storage`, `Permission`.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;

    /// Calls `visit` with the key of every object below a prefix that ends in
    /// `/` (empty: everything but `_tidegate/`), in no order. Without a folder
    /// there, never.
    ///
    /// # Errors
    /// `Storage`, `Permission`.
    async fn list(&self, prefix: &str, visit: &mut KeyVisitor<'_>) -> Result<()>;

    /// Creates a small object, whole or not at all, unless one is there.
    ///
    /// # Errors
    /// `Storage`, `Permission`; the outcome is then unknown.
    async fn put_if_absent(&self, key: &str, bytes: &[u8]) -> Result<Put>;

    /// Makes a finished and flushed local file an object; may consume the file.
    /// The key is new: nobody else ever uses it. The same call again after an
    /// error completes it.
    ///
    /// # Errors
    /// `Storage`, `Permission`.
    async fn put_file(&self, key: &str, file: &Path) -> Result<()>;

    /// Removes an object; one that is not there is no error.
    ///
    /// # Errors
    /// `Storage`, `Permission`.
    async fn delete(&self, key: &str) -> Result<()>;

    /// Removes what unfinished puts of this writer left behind.
    ///
    /// # Errors
    /// `Storage`, `Permission`.
    async fn sweep(&self) -> Result<()>;

    /// Tries the operations that a sink needs, leaving nothing behind.
    ///
    /// # Errors
    /// The first that fails, with the remedy.
    async fn probe(&self) -> Result<()>;
}

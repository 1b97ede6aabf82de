//! File-system calls and encoding inside async code.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs work that blocks the thread (a flush may take 100 ms) so that other
/// tasks of the runtime go on meanwhile. On a runtime of one thread there is
/// nowhere else for them to go: the work simply runs.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

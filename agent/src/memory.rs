//! Settings of the process's allocator.
//!
//! glibc gives each thread an arena of its own and keeps freed pages in it. The
//! agent's threads hand rows on to each other, so what one allocates another
//! frees: with an arena each, memory grows with the load and stays. One arena
//! took a tenth less at no cost in speed (`docs/benchmarks.md`).

/// Sets the allocator up; before the first thread starts.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "glibc's mallopt has no safe wrapper")]
pub(crate) fn set_up() {
    // SAFETY: only numbers are passed, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Gives freed pages back to the system: after work that happens once, such as
/// compiling a module.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "glibc's malloc_trim has no safe wrapper")]
pub(crate) fn trim() {
    // SAFETY: it takes the allocator's own lock and touches free memory only.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn set_up() {}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn trim() {}

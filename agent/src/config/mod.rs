//! Configuration: parsed as written, then resolved into values that cannot
//! contradict each other.

mod secret;
mod settings;

pub mod resolve;

pub use secret::Secret;

//! From what was written to what is meant.

pub use super::settings::*;

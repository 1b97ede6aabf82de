//! Between the model's columns and the contract's vectors.
//!
//! On the way in nothing is copied that has the same form on both sides: text
//! heaps, offsets (Arrow counts them as i32, the contract as u32: the same bits),
//! 64-bit numbers. On the way out everything is checked, since it comes from
//! code that is not ours: what does not hold is a [`Violation`] that names its
//! rule, and is treated as a trap.

mod decimal;
mod input;
mod output;
mod system;
#[cfg(test)]
mod tests;
mod text;
mod types;

pub(crate) use input::{Input, arrays};
pub(crate) use output::{Answer, Computed, check};
pub(crate) use system::{SYSTEM_COLUMNS, system_array};
pub(crate) use types::{described, from_wit, visible};

/// A rule of the contract that a guest's answer breaks. Names rule and column,
/// never a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation(pub(crate) String);

impl Violation {
    fn new(rule: impl Into<String>) -> Self {
        Self(rule.into())
    }
}

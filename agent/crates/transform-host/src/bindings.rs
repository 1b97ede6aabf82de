//! The generated twin of `wit/`, and nothing else.
//!
//! Borrowed ownership: with owned lists every column would be copied once more
//! on its way into the guest. The price is uneven names: a type that goes both
//! ways exists twice, as `…Param` (borrowed, to the guest) and `…Result` (owned,
//! from it). Nothing outside this crate sees these types; [`crate::convert`] and
//! [`crate::plan`] turn them into the model's.

#![allow(missing_docs, unreachable_pub, rust_2018_idioms, clippy::all, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../../wit",
    world: "column-transform",
    ownership: Borrowing { duplicate_if_necessary: true },
});

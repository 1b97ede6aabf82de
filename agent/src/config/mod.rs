//! Configuration: parsed as written, then resolved into values that cannot
//! contradict each other.
//!
//! A file goes through three steps, and each leaves the next less to doubt:
//! [`node`] makes a tree in which every value knows its line, [`keys`] compares
//! the tree with the list of all keys, [`resolve`] reads typed values from it
//! and fills in defaults. Problems are collected on the way and told together.

mod file;
mod nearest;
mod node;
mod problems;
mod quantity;
mod reference;
mod secret;
mod section;
mod settings;

pub mod keys;
pub mod resolve;

#[cfg(test)]
mod tests;

pub use file::{Configuration, load, load_with, load_without_environment};
pub use secret::Secret;

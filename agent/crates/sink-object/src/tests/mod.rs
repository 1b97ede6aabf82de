//! The sink as a whole, on a temporary folder.

mod commits;
mod content;
mod crashes;
mod faults;
mod faulty_store;
mod latest;
mod races;
mod sample;
mod wide;

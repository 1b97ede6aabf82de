//! All integration tests, in one binary; one file an area.

mod rig;
mod scenarios;
mod tidy;

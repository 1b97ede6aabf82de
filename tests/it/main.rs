//! All integration tests, in one binary; one file an area.

mod rig;
mod tidy;

//! All integration tests, in one binary; one file an area.

mod control;
mod crash;
mod cuts;
mod docs;
mod faults;
mod resume;
mod rig;
mod scenarios;
mod schema;
mod snapshot;
mod takeover;
mod tidy;
mod tls;
mod transform;
mod values;

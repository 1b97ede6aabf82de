//! The harness of the integration tests: real servers, the agent as its users run it, and readers
//! that share no code with it.
//!
//! The tests see the agent from outside only, by its command line, its HTTP interface and the files
//! that it writes. So they hold for any inner shape, and a kill is a kill of the whole process.

pub mod load;
pub mod rig;
pub mod scenario;

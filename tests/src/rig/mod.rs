//! What a scenario is made of.
//!
//! ```text
//! let database = MariaDb::shared().database("orders");       // a server for all, a database each
//! database.session().run("create table orders (…); insert …");
//! let pipeline = Pipeline::new(&database).parquet();          // a folder with the pipeline's file
//! let agent = pipeline.start();                               // `tidegate run`, ready
//! agent.wait_for_position(&database.position());              // the lake has everything up to here
//! let rows = pipeline.lake().duckdb("select …");              // read by others' readers
//! ```
//!
//! Nothing here sleeps for a time that was thought long enough: [`wait_for`] names an event, looks
//! for it, and fails with what it saw last. Folders vanish with a passing test and stay, with their
//! path printed, after a failing one.

mod agent;
mod events;
mod gtid;
mod lake;
mod latest;
mod mariadb;
mod oracle;
mod paths;
mod pipeline;
mod random;
mod reader;
mod scratch;
mod session;
mod wait;

pub use agent::{Agent, Run, table_status, tidegate};
pub use events::{Event, user_cells};
pub use gtid::Gtids;
pub use lake::Lake;
pub use mariadb::{Database, MariaDb};
pub use oracle::{expected_json_rows, expected_rows};
pub use paths::{agent_binary, mapping_component, workspace};
pub use pipeline::Pipeline;
pub use random::Random;
pub use reader::{Row, Table, read};
pub use scratch::Scratch;
pub use session::Session;
pub use wait::{PATIENCE, wait_for};

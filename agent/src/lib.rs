//! The Tidegate agent as a library: configuration, pipeline, control interface,
//! telemetry and the command line. The binary is a thin shell around [`cli`].

pub mod cli;
pub mod config;
pub mod control;
pub mod pipeline;
pub mod telemetry;

mod bounded;
mod demo;
mod memory;
mod stdout;

//! The host with real guests: one file an area.

mod chain;
mod containment;
mod filters;
mod loading;
mod rows;

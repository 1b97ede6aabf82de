//! source-mysql

pub mod binlog;
pub mod charset;
pub mod codec;

#[cfg(test)]
mod captures;
#[cfg(test)]
mod damage_tests;

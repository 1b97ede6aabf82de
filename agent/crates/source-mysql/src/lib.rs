//! source-mysql

pub mod binlog;
pub mod charset;
pub mod codec;

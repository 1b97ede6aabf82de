//! source-mysql

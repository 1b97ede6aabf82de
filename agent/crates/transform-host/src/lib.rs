//! transform-host

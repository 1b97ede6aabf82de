//! sink-object

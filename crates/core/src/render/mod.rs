//! Plans as bytes.

pub mod topology;

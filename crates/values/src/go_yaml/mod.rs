//! YAML as Go's yaml.v3 reads and writes it, which is the library Talos uses.
//!
//! [`reader`] parses a text to nodes, [`scalar`] resolves plain scalars, and [`emit`] writes YAML as the library does.

pub mod emit;
pub mod reader;
pub mod scalar;

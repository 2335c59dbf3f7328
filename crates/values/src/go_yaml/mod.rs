//! YAML as Go's yaml.v3 reads and writes it, which is the library Talos uses.
//!
//! [`reader`] makes nodes of a text, [`scalar`] says what a plain scalar means, and [`emit`] writes the library's text.

pub mod emit;
pub mod reader;
pub mod scalar;

//! The document with `machine` and `cluster`.

use serde_json::Value;

use super::{Flaws, Setting};

/// Judges it.
pub fn validate(_value: &Value, _setting: Setting<'_>, _flaws: &mut Flaws) {}

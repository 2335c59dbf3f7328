//! Documents with a kind, each by itself.

use serde_json::Value;

use super::{Flaws, Setting};
use crate::talos::kind::Kind;

/// Judges one.
pub fn validate(_kind: Kind, _value: &Value, _setting: Setting<'_>, _flaws: &mut Flaws) {}

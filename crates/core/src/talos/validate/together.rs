//! What only shows when the documents of a configuration stand side by side.

use super::{Flaws, Setting};
use crate::talos::config::Config;

/// Judges the whole.
pub fn validate(_config: &Config, _setting: Setting<'_>, _flaws: &mut Flaws) {}

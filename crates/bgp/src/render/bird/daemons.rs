//! `daemons`: the options with which the agent starts BIRD, in the form of FRR's file of that name.

use crate::model::BgpModel;
use crate::render::{DaemonOptions, daemon_options};
use ichor_values::Issue;

/// The file for a ready-made configuration.
pub(crate) fn default_daemons() -> String {
    "bird=yes\nbird_options=\"\"\n".to_owned()
}

/// Renders the file; problems with the configured options are added to `issues`.
pub(crate) fn render(model: &BgpModel, options: &DaemonOptions, issues: &mut Vec<Issue>) -> String {
    let options = daemon_options(options, "bird", issues);
    format!("# {}: written by ichor\nbird=yes\nbird_options=\"{}\"\n", model.name, options.join(" "))
}

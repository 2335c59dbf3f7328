//! `daemons`: with what options the agent starts BIRD, in the form of FRR's file of that name.

use crate::model::BgpModel;
use crate::render::{DaemonOptions, words};
use ichor_values::Issue;

/// The file for a configuration that somebody else wrote.
pub(crate) fn usual() -> String {
    "bird=yes\nbird_options=\"\"\n".to_owned()
}

/// The file; what is wrong with the options that are written is added to `issues`.
pub(crate) fn render(model: &BgpModel, options: &DaemonOptions, issues: &mut Vec<Issue>) -> String {
    let options = words(options, "bird", issues);
    format!("# {}: written by ichor\nbird=yes\nbird_options=\"{}\"\n", model.name, options.join(" "))
}

//! `daemons`: the options with which gobgpd is started, in the form of FRR's file of that name.

use crate::model::BgpModel;
use crate::render::{DaemonOptions, daemon_options};
use ichor_values::Issue;

/// By default, gobgpd serves its API, which allows everything without authentication, on a TCP port of every address.
const CLOSED: [&str; 3] = ["--api-hosts", "unix:///run/gobgpd.sock", "--pprof-disable"];

/// The file for a ready-made configuration.
pub(crate) fn default_daemons() -> String {
    format!("gobgpd=yes\ngobgpd_options=\"{}\"\n", CLOSED.join(" "))
}

/// Renders the file; problems with the configured options are added to `issues`.
pub(crate) fn render(model: &BgpModel, options: &DaemonOptions, issues: &mut Vec<Issue>) -> String {
    let more = daemon_options(options, "gobgpd", issues).iter().map(String::as_str);
    let options = CLOSED.into_iter().chain(more).collect::<Vec<_>>().join(" ");
    format!("# {}: written by ichor\ngobgpd=yes\ngobgpd_options=\"{options}\"\n", model.name)
}

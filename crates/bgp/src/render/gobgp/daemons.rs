//! `daemons`: the options gobgpd is started with, in the form of FRR's file of that name.

use crate::model::BgpModel;
use crate::render::{DaemonOptions, words};
use ichor_values::Issue;

/// By itself gobgpd serves its API, which can do anything and asks nobody who they are, on a TCP port of every address.
const CLOSED: [&str; 3] = ["--api-hosts", "unix:///run/gobgpd.sock", "--pprof-disable"];

/// The file for a configuration that somebody else wrote.
pub(crate) fn usual() -> String {
    format!("gobgpd=yes\ngobgpd_options=\"{}\"\n", CLOSED.join(" "))
}

/// The file; what is wrong with the options that are written is added to `issues`.
pub(crate) fn render(model: &BgpModel, options: &DaemonOptions, issues: &mut Vec<Issue>) -> String {
    let more = words(options, "gobgpd", issues).iter().map(String::as_str);
    let options = CLOSED.into_iter().chain(more).collect::<Vec<_>>().join(" ");
    format!("# {}: written by ichor\ngobgpd=yes\ngobgpd_options=\"{options}\"\n", model.name)
}

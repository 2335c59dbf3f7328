//! `daemons`: the options gobgpd is started with, in the form of FRR's file of that name.

use crate::cluster::section::Routing;
use crate::render::routing::{Refusal, is_word};
use crate::routing::Model;

/// By itself gobgpd serves its API, which can do anything and asks nobody who they are, on a TCP port of every address.
const CLOSED: [&str; 3] = ["--api-hosts", "unix:///run/gobgpd.sock", "--pprof-disable"];

/// The file; what is wrong with the options that are written is added to `refusals`.
pub fn render(model: &Model, routing: &Routing, refusals: &mut Vec<Refusal>) -> String {
    let written = routing.daemons.entries().find(|(daemon, _)| daemon.as_str() == "gobgpd");
    let more = written.iter().flat_map(|(_, options)| options.value.values());
    let more: Vec<&str> = more.map(|option| option.as_str()).collect();
    if let Some(bad) = more.iter().find(|option| !is_word(option)) {
        let reason = format!("`{bad}` is no single word of a command line; write each word as an item");
        refusals.push(Refusal::new("routing.daemons", reason));
    }
    let options = CLOSED.iter().chain(&more).copied().collect::<Vec<_>>().join(" ");
    format!("# {}: written by ichor\ngobgpd=yes\ngobgpd_options=\"{options}\"\n", model.name)
}

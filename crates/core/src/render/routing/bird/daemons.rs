//! `daemons`: with what options the agent starts BIRD, in the form of FRR's file of that name.

use super::Refusal;
use crate::cluster::section::Routing;
use crate::routing::Model;

/// The file; what is wrong with the options that are written is added to `refusals`.
pub fn render(model: &Model, routing: &Routing, refusals: &mut Vec<Refusal>) -> String {
    let written = routing.daemons.entries().filter(|(daemon, _)| daemon.as_str() == "bird");
    let options: Vec<&str> =
        written.flat_map(|(_, options)| options.value.values()).map(|option| option.as_str()).collect();
    if let Some(bad) = options.iter().find(|option| !fits(option)) {
        let reason = format!("`{bad}` is no single word of a command line; write each word as an item");
        refusals.push(Refusal::new("routing.daemons", reason));
    }
    format!("# {}: written by ichor\nbird=yes\nbird_options=\"{}\"\n", model.name, options.join(" "))
}

/// The file is read as a shell would.
fn fits(option: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'$' | b'`');
    !option.is_empty() && option.bytes().all(plain)
}

//! `machine ls`: how it is with machines.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use super::Which;
use crate::argument::Format;
use crate::machines::State;
use crate::table;

/// List machines: where they are, whether they are there and on, and which addresses they have
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 all were asked, 1 one is somebody else's, 2 one could not be asked.")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    format: Format,
}

struct Row {
    node: String,
    place: String,
    state: State,
    addresses: Vec<String>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let chosen = args.which.open()?;
    let mut rows = Vec::new();
    for (node, provider) in chosen.each() {
        let state = provider.state(node)?;
        let is_on = state == State::On && provider.powers().addresses;
        let addresses = if is_on { provider.addresses(node)? } else { Vec::new() };
        let addresses = addresses.iter().map(ToString::to_string).collect();
        rows.push(Row { node: node.to_owned(), place: provider.place(), state, addresses });
    }
    if args.format.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({"node": row.node, "place": row.place, "state": word(&row.state),
                       "foreign": foreign(&row.state), "addresses": row.addresses})
            })
            .collect();
        writeln!(out, "{:#}", json!(rows))?;
    } else {
        let cells = |row: &Row| {
            let state = match foreign(&row.state) {
                Some(whose) => format!("somebody else's: {whose}"),
                None => word(&row.state).to_owned(),
            };
            vec![row.node.clone(), row.place.clone(), state, row.addresses.join("\n")]
        };
        let cells: Vec<_> = rows.iter().map(cells).collect();
        table::print(out, &["node", "place", "state", "addresses"], &cells)?;
    }
    Ok(ExitCode::from(u8::from(rows.iter().any(|row| foreign(&row.state).is_some()))))
}

fn word(state: &State) -> &'static str {
    match state {
        State::Absent => "absent",
        State::Off => "off",
        State::On => "on",
        State::Foreign(_) => "foreign",
    }
}

fn foreign(state: &State) -> Option<&str> {
    match state {
        State::Foreign(whose) => Some(whose),
        _ => None,
    }
}

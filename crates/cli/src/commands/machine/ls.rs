//! `machine ls`: list the machines of nodes.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use super::MachineSelection;
use crate::argument::OutputFormat;
use crate::machines::MachineState;
use crate::table;

/// List the machines of nodes with their provider, state and addresses
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all machines queried, 1 a machine has another owner, 2 a provider\ncannot be queried."
)]
pub(super) struct Args {
    #[command(flatten)]
    which: MachineSelection,
    #[command(flatten)]
    format: OutputFormat,
}

struct MachineRow {
    node: String,
    place: String,
    state: MachineState,
    addresses: Vec<String>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let chosen = args.which.open()?;
    let mut rows = Vec::new();
    for (node, provider) in chosen.each() {
        let state = provider.state(node)?;
        let is_on = state == MachineState::On && provider.capabilities().reports_addresses;
        let addresses = if is_on { provider.addresses(node)? } else { Vec::new() };
        let addresses = addresses.iter().map(ToString::to_string).collect();
        rows.push(MachineRow { node: node.to_owned(), place: provider.location(), state, addresses });
    }
    if args.format.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({"node": row.node, "location": row.place, "state": word(&row.state),
                       "owner": foreign(&row.state), "addresses": row.addresses})
            })
            .collect();
        writeln!(out, "{:#}", json!(rows))?;
    } else {
        let cells = |row: &MachineRow| {
            let state = match foreign(&row.state) {
                Some(whose) => format!("other owner: {whose}"),
                None => word(&row.state).to_owned(),
            };
            vec![row.node.clone(), row.place.clone(), state, row.addresses.join("\n")]
        };
        let cells: Vec<_> = rows.iter().map(cells).collect();
        table::print(out, &["NODE", "PROVIDER", "STATE", "ADDRESSES"], &cells)?;
    }
    Ok(ExitCode::from(u8::from(rows.iter().any(|row| foreign(&row.state).is_some()))))
}

fn word(state: &MachineState) -> &'static str {
    match state {
        MachineState::Absent => "absent",
        MachineState::Off => "off",
        MachineState::On => "on",
        MachineState::Foreign(_) => "foreign",
    }
}

fn foreign(state: &MachineState) -> Option<&str> {
    match state {
        MachineState::Foreign(whose) => Some(whose),
        _ => None,
    }
}

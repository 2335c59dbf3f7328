//! `machine`: manage the machines of nodes one by one.

mod check;
mod lifecycle;
mod ls;

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;

use crate::argument::ClusterFile;
use crate::machines::{Fleet, MachineProvider};
use crate::project::Project;

/// List, create, start, stop and delete the machines of nodes
///
/// The machine of a node is a virtual machine on a hypervisor, or a physical machine with a Redfish or IPMI controller. `ichor up`
/// does the same for all machines in order.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: MachineCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MachineCommand {
    Ls(ls::Args),
    Check(check::Args),
    Make(lifecycle::MakeArgs),
    Start(lifecycle::StartArgs),
    Stop(lifecycle::StopArgs),
    Eject(lifecycle::EjectArgs),
    Delete(lifecycle::DeleteArgs),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        MachineCommand::Ls(args) => ls::run(args, out),
        MachineCommand::Check(args) => check::run(args, out),
        MachineCommand::Make(args) => lifecycle::make(args, out),
        MachineCommand::Start(args) => lifecycle::start(args, out),
        MachineCommand::Stop(args) => lifecycle::stop(args, out),
        MachineCommand::Eject(args) => lifecycle::eject(args, out),
        MachineCommand::Delete(args) => lifecycle::delete(args, out),
    }
}

/// The machines that a command works on.
#[derive(Debug, clap::Args)]
struct MachineSelection {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Select only the machine of this node (repeatable)
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
}

/// The selected machines and their providers.
struct SelectedMachines {
    project: Project,
    fleet: Fleet,
    nodes: Vec<String>,
}

impl MachineSelection {
    /// Reads the cluster file and connects to the providers of its machines.
    fn open(&self) -> anyhow::Result<SelectedMachines> {
        let project = self.cluster.open()?;
        let fleet = match Fleet::from_plan(project.name(), &project.plan) {
            Ok(fleet) => fleet,
            Err(obstacles) => bail!("{}", check::lines(&obstacles)),
        };
        let all: Vec<_> = project.plan.nodes.iter().map(|node| node.name.to_string()).collect();
        if let Some(unknown) = self.only.iter().find(|name| !all.contains(name)) {
            bail!("unknown node `{unknown}`; want one of {}", all.join(", "));
        }
        let is_selected = |name: &String| self.only.is_empty() || self.only.contains(name);
        let nodes: Vec<_> =
            all.into_iter().filter(|name| is_selected(name) && fleet.provider(name).is_some()).collect();
        if nodes.is_empty() {
            bail!("no node has a provider of its machine; set `vm` with a hypervisor, or `power`");
        }
        Ok(SelectedMachines { project, fleet, nodes })
    }
}

impl SelectedMachines {
    /// The selected nodes with their providers.
    fn each(&self) -> impl Iterator<Item = (&str, &dyn MachineProvider)> {
        let provider = |node: &String| self.fleet.provider(node).map(|provider| &**provider);
        self.nodes.iter().filter_map(move |node| Some((node.as_str(), provider(node)?)))
    }
}

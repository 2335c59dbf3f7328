//! `machine`: the machines of nodes, by hand.

mod act;
mod check;
mod ls;

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;

use crate::argument::ClusterFile;
use crate::machines::{Fleet, Machines};
use crate::project::Project;

/// Look at the machines of nodes and make, start, stop or take away single ones
///
/// A node's machine is on a hypervisor, or is a real one with a controller: Redfish or IPMI. What `ichor up` does for all of
/// them in order can be done here step by step.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Ls(ls::Args),
    Check(check::Args),
    Make(act::MakeArgs),
    Start(act::StartArgs),
    Stop(act::StopArgs),
    Eject(act::EjectArgs),
    Delete(act::DeleteArgs),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Ls(args) => ls::run(args, out),
        Verb::Check(args) => check::run(args, out),
        Verb::Make(args) => act::make(args, out),
        Verb::Start(args) => act::start(args, out),
        Verb::Stop(args) => act::stop(args, out),
        Verb::Eject(args) => act::eject(args, out),
        Verb::Delete(args) => act::delete(args, out),
    }
}

/// Which machines are meant.
#[derive(Debug, clap::Args)]
struct Which {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Only this node's; may be given more than once
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
}

/// The machines that are meant, and who provides them.
struct Chosen {
    project: Project,
    fleet: Fleet,
    nodes: Vec<String>,
}

impl Which {
    /// Reads the file and finds who provides its machines.
    fn open(&self) -> anyhow::Result<Chosen> {
        let project = self.cluster.open()?;
        let fleet = match Fleet::of(project.name(), &project.plan) {
            Ok(fleet) => fleet,
            Err(obstacles) => bail!("{}", check::lines(&obstacles)),
        };
        let all: Vec<_> = project.plan.nodes.iter().map(|node| node.name.to_string()).collect();
        if let Some(unknown) = self.only.iter().find(|name| !all.contains(name)) {
            bail!("there is no node {unknown}; want one of {}", all.join(", "));
        }
        let is_meant = |name: &String| self.only.is_empty() || self.only.contains(name);
        let nodes: Vec<_> =
            all.into_iter().filter(|name| is_meant(name) && fleet.provider(name).is_some()).collect();
        if nodes.is_empty() {
            bail!("nobody is named who provides a machine: want `vm` with a hypervisor, or `power`");
        }
        Ok(Chosen { project, fleet, nodes })
    }
}

impl Chosen {
    /// Each node with its provider.
    fn each(&self) -> impl Iterator<Item = (&str, &dyn Machines)> {
        let provider = |node: &String| self.fleet.provider(node).map(|provider| &**provider);
        self.nodes.iter().filter_map(move |node| Some((node.as_str(), provider(node)?)))
    }
}

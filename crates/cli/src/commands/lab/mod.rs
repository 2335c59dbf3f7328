//! `lab`: run a cluster's fabric on this host, with real daemons.

mod capture;
mod cut;
mod down;
mod exec;
mod guests;
mod heal;
mod hold;
mod inside;
mod ls;
mod nodes;
mod output;
mod serve_console;
mod status;
mod test;
mod topology;
mod up;
mod watch;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::lab::{LabDir, vm};

/// Run the fabric of a cluster on this host, with real daemons
///
/// Routers run FRR with the configuration that `ichor build` writes for them. Nodes run ichor-agent with their BGP daemon, and a GoBGP
/// process takes the role of MetalLB or Cilium. Every machine is a set of Linux namespaces: the network of this host is not changed.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LabCommand {
    Up(up::Args),
    Down(down::Args),
    Ls(ls::Args),
    Status(status::Args),
    Exec(exec::Args),
    Cut(cut::Args),
    Heal(heal::Args),
    Capture(capture::Args),
    Test(test::Args),
    Topology(topology::Args),
    Nodes(nodes::Args),
    #[command(hide = true)]
    Hold(hold::Args),
    Inside(inside::Args),
    ServeConsole(serve_console::Args),
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        LabCommand::Up(args) => up::run(args, out),
        LabCommand::Down(args) => down::run(args, out),
        LabCommand::Ls(args) => ls::run(args, out),
        LabCommand::Status(args) => args.which.run_here_or_in_vm(&[], || status::run(args, out)),
        LabCommand::Exec(args) => args.which.run_here_or_in_vm(&[], || exec::run(args)),
        LabCommand::Cut(args) => args.which.run_here_or_in_vm(&[], || cut::run(args)),
        LabCommand::Heal(args) => args.which.run_here_or_in_vm(&[], || heal::run(args)),
        LabCommand::Capture(args) => args.which.run_here_or_in_vm(&args.files(), || capture::run(args)),
        LabCommand::Test(args) => test::run(args, out),
        LabCommand::Topology(args) => topology::run(args, out),
        LabCommand::Nodes(args) => nodes::run(args, out),
        LabCommand::Hold(args) => hold::run(args),
        LabCommand::Inside(args) => inside::run(args),
        LabCommand::ServeConsole(args) => serve_console::run(args),
    }
}

/// The lab that a command works on.
#[derive(Debug, clap::Args)]
pub(super) struct LabSelection {
    /// Name of the lab [default: the only running lab]
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
}

impl LabSelection {
    /// Runs `act`, or the complete command inside the lab's virtual machine if it has one; `files` that it writes are copied to this
    /// host.
    fn run_here_or_in_vm(
        &self,
        files: &[PathBuf],
        act: impl FnOnce() -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        let dir = match &self.lab {
            Some(name) => LabDir::named(name)?,
            None => LabDir::only_running()?,
        };
        if vm::is_in_vm(&dir) { Ok(vm::rerun_in_vm(&dir, None, files)?) } else { act() }
    }
}

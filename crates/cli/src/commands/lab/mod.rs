//! `lab`: a cluster's fabric on this machine, with real daemons.

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
mod serve_console;
mod status;
mod test;
mod told;
mod topology;
mod up;
mod watch;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::lab::{Place, vm};

/// Run the whole fabric here, with real daemons, before any of it exists
///
/// Routers run FRR with the configuration that `ichor build` writes for them, nodes run ichor's agent with their routing
/// daemon, and a real BGP speaker stands for MetalLB or Cilium. All of it is in namespaces of its own: nothing is changed in
/// the network of this machine.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
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
    match &args.verb {
        Verb::Up(args) => up::run(args, out),
        Verb::Down(args) => down::run(args, out),
        Verb::Ls(args) => ls::run(args, out),
        Verb::Status(args) => args.which.or_inside(&[], || status::run(args, out)),
        Verb::Exec(args) => args.which.or_inside(&[], || exec::run(args)),
        Verb::Cut(args) => args.which.or_inside(&[], || cut::run(args)),
        Verb::Heal(args) => args.which.or_inside(&[], || heal::run(args)),
        Verb::Capture(args) => args.which.or_inside(&args.files(), || capture::run(args)),
        Verb::Test(args) => test::run(args, out),
        Verb::Topology(args) => topology::run(args, out),
        Verb::Nodes(args) => nodes::run(args, out),
        Verb::Hold(args) => hold::run(args),
        Verb::Inside(args) => inside::run(args),
        Verb::ServeConsole(args) => serve_console::run(args),
    }
}

/// Which lab is meant.
#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// Name of the lab; the only one that runs when left out
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
}

impl Which {
    /// Does something with the lab; where that is in a virtual machine, the whole command runs there, and the files that it is
    /// said to write come here.
    fn or_inside(
        &self,
        files: &[PathBuf],
        act: impl FnOnce() -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        let place = match &self.lab {
            Some(name) => Place::of(name)?,
            None => Place::only()?,
        };
        if vm::holds(&place) { Ok(vm::hand_over_all(&place, None, files)?) } else { act() }
    }
}

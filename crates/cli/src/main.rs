//! The `ichor` command: turns one cluster file into Talos nodes that boot, peer over BGP and join the cluster.
//!
//! `main` parses the arguments, runs one command and prints its [`Refusal`] or error chain once. Exit 0: success. Exit 1: a
//! negative result, such as a failed check. Exit 2: the command could not run.

mod apt;
mod argument;
mod cache;
mod chain;
mod cilium;
mod cluster_client;
mod cluster_secrets;
mod commands;
mod compress;
mod configuration;
mod confirmation;
mod connect;
mod disk;
mod encrypted_file;
mod facts;
mod helm;
mod http;
mod identity;
mod image;
mod lab;
mod log_stream;
mod machines;
mod netlink;
mod observe;
mod oci;
mod parallel;
mod progress;
mod project;
mod recipient;
mod refusal;
mod report;
mod reset;
mod secret;
mod style;
mod table;
mod teardown;
mod template_check;
mod tree;
mod up;
mod upgrade;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use refusal::Refusal;

/// A plan is millions of small values: with the system's allocator, allocation is half of the run time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Build and run Talos Linux clusters with BGP from one cluster file
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Get started: run `ichor new DIR --like metallb`, then in DIR\n`ichor check` and `ichor show`.\n\n\
                  Exit status: 0 success, 1 negative result, 2 the command could not run."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = anstream::AutoStream::auto(io::stdout().lock());
    let ran = cli.command.run(&mut out).or_else(|error| match error.downcast::<Refusal>() {
        Ok(refused) => Ok(refused.print(&mut out)?),
        Err(error) => Err(error),
    });
    // A closed pipe does not change the exit status.
    let code = *ran.as_ref().unwrap_or(&ExitCode::SUCCESS);
    match ran.and_then(|_| Ok(out.flush()?)) {
        Ok(()) => code,
        Err(error) if is_closed_pipe(&error) => code,
        Err(error) => {
            style::say_error(&chain::chain(&*error));
            ExitCode::from(2)
        }
    }
}

/// Whether an error is a closed pipe, as in `ichor show nodes | head`, which is not a failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind.or_else(|| cause.downcast_ref::<serde_json::Error>()?.io_error_kind())
            == Some(io::ErrorKind::BrokenPipe)
    })
}

//! The `ichor` command: one cluster file in, Talos nodes that boot, route and join out.
//!
//! `main` parses the arguments, calls one command and prints once why it failed: what it [`Refused`], or an error chain. Exit 0:
//! done. Exit 1: the answer is no. Exit 2: it could not be done.

mod apt;
mod argument;
mod cache;
mod chain;
mod cilium;
mod commands;
mod configuration;
mod consent;
mod crew;
mod daemon;
mod disk;
mod facts;
mod follow;
mod helm;
mod http;
mod identity;
mod image;
mod lab;
mod machines;
mod netlink;
mod observe;
mod oci;
mod press;
mod progress;
mod project;
mod reach;
mod recipient;
mod refused;
mod report;
mod reset;
mod sealed;
mod secret;
mod style;
mod table;
mod teardown;
mod tree;
mod up;
mod upgrade;
mod vault;
mod verify;
mod work;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use refused::Refused;

/// A plan is millions of small values, and giving each its memory is half of the work.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One cluster file in; Talos nodes that boot, route and join out
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Start with `ichor new DIR --like metallb`, then `ichor check` and `ichor show` in that folder.\n\
                  FILE is ichor.yaml in the working folder when left out.\n\
                  Exit status: 0 done, 1 the answer is no, 2 could not be done."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = anstream::AutoStream::auto(io::stdout().lock());
    let ran = cli.command.run(&mut out).or_else(|error| match error.downcast::<Refused>() {
        Ok(refused) => Ok(refused.print(&mut out)?),
        Err(error) => Err(error),
    });
    // The answer stays the answer when whoever reads it stops reading.
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

/// Whoever reads our output may stop reading: `ichor show nodes | head` is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind.or_else(|| cause.downcast_ref::<serde_json::Error>()?.io_error_kind())
            == Some(io::ErrorKind::BrokenPipe)
    })
}

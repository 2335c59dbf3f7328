//! The `ichor-agent` command: routing on a Talos node.
//!
//! `main` parses the arguments, calls one command and prints an error chain once. Exit 0: done. Exit 1: the answer is no. Exit 2:
//! it could not be done.

mod commands;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;

/// Routing on a Talos node: links, the routing daemon, and what they tell
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "What to do comes from agent.json (written by `ichor build`), from a frr.conf that is ready, or from the environment:\n\
                  NODE_IP, ASN_LOCAL, FE_MACS and more; see docs/agent.md.\n\
                  Exit status: 0 done, 1 the answer is no, 2 could not be done."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ran = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(cli.command.run()));
    ran.unwrap_or_else(|error| {
        let chain: Vec<_> = error.chain().map(ToString::to_string).collect();
        eprintln!("error: {}", chain.join(": "));
        ExitCode::from(2)
    })
}

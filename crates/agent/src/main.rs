//! The `ichor-agent` command: routing on a Talos node.
//!
//! `main` parses the arguments, runs one command and prints an error chain once. Exit 0: success. Exit 1: `check` or `status`
//! reports a problem. Exit 2: the command failed.

mod commands;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;

/// Run BGP on a Talos node: set up links and supervise the routing daemon
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Configuration: agent.json (written by `ichor build`), a ready-made frr.conf,\n\
                  bird.conf or gobgpd.toml, or environment variables such as NODE_IP,\n\
                  ASN_LOCAL and FE_MACS; see docs/reference/agent.md.\n\
                  Exit status: 0 success, 1 problem found (check, status), 2 error."
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use ichor_testbed::command_reference::command_reference;

    use super::*;

    #[test]
    fn the_command_reference_is_current() {
        let groups = [("Run and inspect the agent", ["run", "status", "check", "render", "down"].as_slice())];
        let reference = command_reference(Cli::command(), &groups);

        ichor_testbed::assert_section("docs/commands.md", "ichor-agent", &reference);
    }
}

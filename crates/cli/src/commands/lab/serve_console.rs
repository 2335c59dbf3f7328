//! `lab serve-console`: the server inside the virtual machine of a lab that runs commands there.

use std::process::ExitCode;

use crate::lab::vm;

/// Serve commands inside the virtual machine of a lab (internal)
#[derive(Debug, clap::Args)]
#[command(hide = true, disable_version_flag = true)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<ExitCode> {
    match vm::serve()? {}
}

//! `lab serve-console`: what runs inside the virtual machine of a lab, and runs commands there.

use std::process::ExitCode;

use crate::lab::vm;

/// Run commands inside the virtual machine of a lab
#[derive(Debug, clap::Args)]
#[command(hide = true, disable_version_flag = true)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<ExitCode> {
    match vm::serve()? {}
}

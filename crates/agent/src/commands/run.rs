//! `run`: keep the routing in the desired state until a signal.

use std::path::PathBuf;
use std::process::ExitCode;

use ichor_agent::config::ConfigLoader;
use ichor_agent::run::{Settings, run as keep_running};
use ichor_agent::{machined, serve};

use super::{Duty, RUN};

/// Make links, run the routing daemon, and keep both as they are meant, until told to end
///
/// SIGTERM ends it as for a restart: neighbours keep the node's routes for a while. When Talos says that the node leaves, its
/// routes are withdrawn at once. SIGHUP reads the configuration again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    duty: Duty,
    /// Folder for sockets and for the daemon's files as they run
    #[arg(long, value_name = "DIR", default_value = RUN)]
    run: PathBuf,
    /// Port on 127.0.0.1 that serves /metrics, /healthz and /status; 0 serves nothing
    #[arg(long, value_name = "PORT", default_value_t = serve::local::PORT)]
    port: u16,
    /// Socket of Talos' machined
    #[arg(long, value_name = "SOCKET", default_value = machined::SOCKET)]
    machined: PathBuf,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let loader = ConfigLoader::new(args.duty.config);
    let port = Some(args.port).filter(|port| *port != 0);
    keep_running(Settings { loader, run: args.run, port, machined: args.machined }).await?;
    Ok(ExitCode::SUCCESS)
}

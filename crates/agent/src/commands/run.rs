//! `run`: keep the node's routing in the desired state until a signal.

use std::path::PathBuf;
use std::process::ExitCode;

use ichor_agent::config::ConfigLoader;
use ichor_agent::run::{Settings, run as keep_running};
use ichor_agent::{machined, serve};

use super::{ConfigArgs, RUN};

/// Set up links and run the routing daemon until SIGTERM
///
/// Repairs links and routes, and restarts the daemon when it fails. SIGTERM
/// stops the daemon for a restart: neighbours keep the node's routes for a
/// while. When the node reboots, shuts down, is reset or upgraded, its routes
/// are withdrawn immediately. SIGHUP reloads the configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Run directory: sockets and the daemon's configuration files
    #[arg(long, value_name = "DIR", default_value = RUN)]
    run: PathBuf,
    /// Serve /metrics, /healthz and /status on 127.0.0.1:PORT; 0 disables it
    #[arg(long, value_name = "PORT", default_value_t = serve::local::PORT)]
    port: u16,
    /// Socket of Talos' machined
    #[arg(long, value_name = "SOCKET", default_value = machined::SOCKET)]
    machined: PathBuf,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let loader = ConfigLoader::new(args.config.config);
    let port = Some(args.port).filter(|port| *port != 0);
    keep_running(Settings { loader, run: args.run, port, machined: args.machined }).await?;
    Ok(ExitCode::SUCCESS)
}

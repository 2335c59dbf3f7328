//! `logs`: print the logs of a node's services and kernel, or list its services.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::anyhow;
use ichor_talos::api::common::Data;
use ichor_talos::api::machine::ServiceInfo;
use serde_json::json;

use crate::argument::ClusterOption;
use crate::connect::{self, ConnectOptions, NodeAnswer, NodeConnector};
use crate::log_stream::{LogSource, follow_log};
use crate::{style, table};
use ichor_client::talos::machine::LogTail;
use ichor_client::talos::{NodeClient, NodeError, NodeErrorKind, ResponseStream};

/// Show the logs of a node's services and kernel, or list its services
///
/// The command connects to the node directly, trying every address in the cluster file, with the administrator's certificate. A
/// machine in maintenance mode needs no certificate; its logs are available from Talos 1.13 on. Without SERVICE the command lists the
/// services with their state, health and last event.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Common services: ext-frr, ext-bird or ext-gobgp (routing), kubelet, etcd, apid,\nmachined, containerd, cri.\n\n\
                        Examples:\n  ichor logs solcp01\n  ichor logs solcp01 ext-frr -f\n  ichor logs solwk01 kubelet --tail 50\n  \
                        ichor logs solwk01 --dmesg\n  ichor logs solwk01 --dmesg --node-address solwk01=10.0.0.57"
)]
pub(crate) struct Args {
    /// Name of the node
    #[arg(value_name = "NODE")]
    node: String,
    /// Service, such as ext-frr or kubelet [default: list all services]
    #[arg(value_name = "SERVICE")]
    service: Option<String>,
    #[command(flatten)]
    cluster: ClusterOption,
    /// Print new lines until Ctrl-C, across reboots of the node
    #[arg(short, long)]
    follow: bool,
    /// Print only the last N lines, then with --follow new ones
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
    /// Print the kernel log, with Talos' messages about each boot step
    #[arg(long, conflicts_with = "service")]
    dmesg: bool,
    /// Print the list of services as JSON
    #[arg(long, conflicts_with_all = ["service", "dmesg"])]
    json: bool,
    #[command(flatten)]
    way: ConnectOptions,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let plan = project.node(&args.node)?;
    let (connector, _) = NodeConnector::open(&project, &args.way)?;
    connect::runtime()?.block_on(async {
        let reached = connector.find_node(plan).await;
        let early = matches!(reached, NodeAnswer::Maintenance(..));
        let node = reached.node(&args.node)?;
        let copied = match (&args.service, args.follow) {
            (None, _) if !args.dmesg => return list(&node, early, args, out).await,
            (Some(service), true) => follow_result(
                follow_log(&connector, plan, node, LogSource::Service(service, args.tail), out).await,
            ),
            (Some(service), false) => {
                let tail = LogTail { lines: args.tail, follow: false };
                copy(node.logs(service, tail), None, out).await
            }
            // The kernel log has no tail: Talos sends all past messages or none.
            (None, true) => follow_result(
                follow_log(&connector, plan, node, LogSource::Kernel { past: args.tail != Some(0) }, out)
                    .await,
            ),
            (None, false) => copy(node.dmesg(false, false), args.tail, out).await,
        };
        explain_error(copied, early, &args.node).map(|()| ExitCode::SUCCESS)
    })
}

/// Reports why following a log ended; it never ends without an error.
fn follow_result(ended: Result<io::Error, NodeError>) -> anyhow::Result<()> {
    Err(ended?.into())
}

/// Copies a stream, or its last lines.
async fn copy(
    mut stream: ResponseStream<Data>,
    last: Option<u32>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Some(last) = last else {
        while let Some(data) = stream.next().await? {
            out.write_all(&data.bytes)?;
            out.flush()?;
        }
        return Ok(());
    };
    let all = stream.bytes().await?;
    out.write_all(last_lines(&all, last as usize))?;
    Ok(())
}

/// The last `lines` lines of a text.
fn last_lines(text: &[u8], lines: usize) -> &[u8] {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let Some(before) = lines.checked_sub(1) else { return &[] };
    let start = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').nth(before);
    &text[start.map_or(0, |(at, _)| at + 1)..]
}

/// Adds the reason to an error of a machine in maintenance mode, or a hint.
fn explain_error<T>(result: anyhow::Result<T>, early: bool, name: &str) -> anyhow::Result<T> {
    result.map_err(|error| match error.downcast_ref::<NodeError>().map(NodeError::kind) {
        Some(NodeErrorKind::Unimplemented) if early => {
            anyhow!("{error:#}; the node is in maintenance mode, in which logs need Talos 1.13")
        }
        Some(NodeErrorKind::NotFound) => anyhow!("{error:#}; `ichor logs {name}` lists the services"),
        _ => error,
    })
}

async fn list(node: &NodeClient, early: bool, args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mut services = explain_error(node.services().await.map_err(Into::into), early, &args.node)?;
    services.sort_by(|one, other| one.id.cmp(&other.id));
    if args.json {
        let all: Vec<_> = services.iter().map(service_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<_> = services.iter().map(row).collect();
    table::print(out, &["SERVICE", "STATE", "HEALTH", "LAST EVENT"], &rows)?;
    style::say(&format!("show a log: `ichor logs {} SERVICE`, or --dmesg for the kernel log", args.node));
    Ok(ExitCode::SUCCESS)
}

fn health(service: &ServiceInfo) -> &'static str {
    match &service.health {
        Some(health) if health.unknown => "",
        Some(health) if health.healthy => "healthy",
        Some(_) => "unhealthy",
        None => "",
    }
}

fn last_event(service: &ServiceInfo) -> &str {
    let unhealthy = service.health.as_ref().filter(|health| !health.healthy && !health.unknown);
    let message = unhealthy.map(|health| health.last_message.as_str()).filter(|message| !message.is_empty());
    let event = service.events.as_ref().and_then(|events| events.events.last());
    message.or_else(|| event.map(|event| event.msg.as_str())).unwrap_or_default()
}

fn row(service: &ServiceInfo) -> Vec<String> {
    [&service.id, &service.state, health(service), last_event(service)].map(str::to_owned).to_vec()
}

fn service_json(service: &ServiceInfo) -> serde_json::Value {
    json!({
        "service": service.id,
        "state": service.state,
        "healthy": service.health.as_ref().filter(|health| !health.unknown).map(|health| health.healthy),
        "last_message": last_event(service),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_do_not_depend_on_a_final_newline() {
        let all = b"a\nb\nc\n";

        assert_eq!(last_lines(all, 0), b"");
        assert_eq!(last_lines(all, 1), b"c\n");
        assert_eq!(last_lines(all, 2), b"b\nc\n");
        assert_eq!(last_lines(all, 9), all);
        assert_eq!(last_lines(b"a\nb", 1), b"b");
        assert_eq!(last_lines(b"", 1), b"");
    }
}

//! `logs`: what a node's services and its kernel write.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::anyhow;
use ichor_talos::api::common::Data;
use ichor_talos::api::machine::ServiceInfo;
use serde_json::json;

use crate::argument::ClusterOption;
use crate::follow::{Log, follow};
use crate::reach::{self, Reach, Reached, Way};
use crate::{style, table};
use ichor_client::talos::machine::LogTail;
use ichor_client::talos::{Kind, Node, NodeError, Stream};

/// Show what a node's services and its kernel write, or which services there are
///
/// The node is asked directly, at every address the file knows of it, with the administrator's certificate beside the cluster
/// file. A machine that has no configuration yet is asked without one: it answers from Talos 1.13 on. Without a service the
/// services are listed, with their state and the last that happened to each.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Services of interest: ext-frr, ext-bird or ext-gobgp (routing), kubelet, etcd, apid, machined, containerd, cri.\n\
                        --dmesg has the kernel's messages and Talos' own about each step of the boot.\n\n\
                        Examples:\n  ichor logs solcp01\n  ichor logs solcp01 ext-frr -f\n  ichor logs solwk01 kubelet --tail 50\n  \
                        ichor logs solwk01 --dmesg\n  ichor logs solwk01 --dmesg --node-address solwk01=10.0.0.57"
)]
pub(crate) struct Args {
    /// Node, by its name in the cluster file
    node: String,
    /// Service, such as ext-frr or kubelet
    service: Option<String>,
    #[command(flatten)]
    cluster: ClusterOption,
    /// Wait for more, until Ctrl-C; a node that reboots or is lost is looked for again
    #[arg(short, long)]
    follow: bool,
    /// Only the last N lines; with --follow those and what comes
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
    /// What the kernel and Talos itself write
    #[arg(long, conflicts_with = "service")]
    dmesg: bool,
    /// Print the list of services as JSON
    #[arg(long, conflicts_with_all = ["service", "dmesg"])]
    json: bool,
    #[command(flatten)]
    way: Way,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let plan = project.node(&args.node)?;
    let (reach, _) = Reach::open(&project, &args.way)?;
    reach::runtime()?.block_on(async {
        let reached = reach.node(plan).await;
        let early = matches!(reached, Reached::Maintenance(..));
        let node = reached.node(&args.node)?;
        let copied = match (&args.service, args.follow) {
            (None, _) if !args.dmesg => return list(&node, early, args, out).await,
            (Some(service), true) => {
                followed(follow(&reach, plan, node, Log::Service(service, args.tail), out).await)
            }
            (Some(service), false) => {
                let tail = LogTail { lines: args.tail, follow: false };
                copy(node.logs(service, tail), None, out).await
            }
            // Of what is past the kernel gives all or nothing.
            (None, true) => {
                followed(follow(&reach, plan, node, Log::Kernel { past: args.tail != Some(0) }, out).await)
            }
            (None, false) => copy(node.dmesg(false, false), args.tail, out).await,
        };
        explained(copied, early, &args.node).map(|()| ExitCode::SUCCESS)
    })
}

/// A log is followed until that fails in one way or another.
fn followed(ended: Result<io::Error, NodeError>) -> anyhow::Result<()> {
    Err(ended?.into())
}

/// Copies a stream, or the last lines of it.
async fn copy(mut stream: Stream<Data>, last: Option<u32>, out: &mut dyn Write) -> anyhow::Result<()> {
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

/// The last lines of a text.
fn last_lines(text: &[u8], lines: usize) -> &[u8] {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let Some(before) = lines.checked_sub(1) else { return &[] };
    let start = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').nth(before);
    &text[start.map_or(0, |(at, _)| at + 1)..]
}

/// Says what a failure means for a machine at this stage.
fn explained<T>(result: anyhow::Result<T>, early: bool, name: &str) -> anyhow::Result<T> {
    result.map_err(|error| match error.downcast_ref::<NodeError>().map(NodeError::kind) {
        Some(Kind::Unimplemented) if early => {
            anyhow!(
                "{error:#}; it has no configuration yet, and before that Talos tells its logs from 1.13 on"
            )
        }
        Some(Kind::NotFound) => anyhow!("{error:#}; `ichor logs {name}` lists the services"),
        _ => error,
    })
}

async fn list(node: &Node, early: bool, args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let mut services = explained(node.services().await.map_err(Into::into), early, &args.node)?;
    services.sort_by(|one, other| one.id.cmp(&other.id));
    if args.json {
        let all: Vec<_> = services.iter().map(told).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<_> = services.iter().map(row).collect();
    table::print(out, &["SERVICE", "STATE", "HEALTH", "LAST"], &rows)?;
    style::say(&format!(
        "`ichor logs {} SERVICE` shows what one writes, --dmesg what the kernel does",
        args.node
    ));
    Ok(ExitCode::SUCCESS)
}

fn health(service: &ServiceInfo) -> &'static str {
    match &service.health {
        Some(health) if health.unknown => "",
        Some(health) if health.healthy => "well",
        Some(_) => "not well",
        None => "",
    }
}

fn last(service: &ServiceInfo) -> &str {
    let unwell = service.health.as_ref().filter(|health| !health.healthy && !health.unknown);
    let said = unwell.map(|health| health.last_message.as_str()).filter(|message| !message.is_empty());
    let event = service.events.as_ref().and_then(|events| events.events.last());
    said.or_else(|| event.map(|event| event.msg.as_str())).unwrap_or_default()
}

fn row(service: &ServiceInfo) -> Vec<String> {
    [&service.id, &service.state, health(service), last(service)].map(str::to_owned).to_vec()
}

fn told(service: &ServiceInfo) -> serde_json::Value {
    json!({"id": service.id, "state": service.state, "health": health(service), "last": last(service)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_the_last_whether_or_not_the_text_ends_a_line() {
        let all = b"a\nb\nc\n";

        assert_eq!(last_lines(all, 0), b"");
        assert_eq!(last_lines(all, 1), b"c\n");
        assert_eq!(last_lines(all, 2), b"b\nc\n");
        assert_eq!(last_lines(all, 9), all);
        assert_eq!(last_lines(b"a\nb", 1), b"b");
        assert_eq!(last_lines(b"", 1), b"");
    }
}

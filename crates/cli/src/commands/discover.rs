//! `discover`: find machines in maintenance mode.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::{StreamExt as _, stream};
use ichor_core::observe::discovered_machine::{
    DiscoveredMachine, DiscoveryState, HEADING, merge_addresses, new_nodes_yaml,
};
use ichor_talos::api::PORT;
use ichor_talos::resource::{Disk, HostnameStatus, LinkStatus, SystemInformation};
use ipnet::IpNet;
use tokio::net::TcpStream;
use tokio::time;

use crate::argument::{IdentityFile, OutputFormat};
use crate::connect;
use crate::progress::Progress;
use crate::project::{self, Project};
use crate::up::{leases, neighbours};
use crate::{cluster_secrets, style, table};
use ichor_client::talos::{Credentials, NodeClient, NodeErrorKind, ProbeResult};

/// Largest number of addresses of a prefix that is scanned.
const MAX_ADDRESSES: u32 = 1 << 16;
/// Number of addresses probed at once.
const MAX_PARALLEL: usize = 400;
/// Time limit for a machine on a local network to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Find machines in maintenance mode and print their hardware
///
/// The command probes port 50000 of every address of the given prefixes. In an IPv6 prefix shorter than /112 it probes only the
/// addresses in the neighbour table of this host. Without PREFIX and --leases it scans the node networks of the cluster file
/// (network.node). Each machine reports its MAC addresses, disks and links, and is matched to a node by MAC address. A machine with
/// several addresses is listed once. Machines that are not in the file are printed as YAML to paste into it. The command is read-only.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The fingerprint is that of the Talos console and of `talosctl\n--cert-fingerprint`.\n\n\
                        Exit status: 0 machines found, 1 none found, 2 the scan failed.\n\n\
                        Examples:\n  ichor discover 10.0.0.0/24\n  ichor discover 10.0.0.0/24 fd00:10::/64 --json\n  \
                        ichor discover --leases /var/lib/misc/dnsmasq.leases\n  ichor discover"
)]
pub(crate) struct Args {
    /// Prefixes to scan [default: the node networks of the cluster file]
    #[arg(value_name = "PREFIX", value_parser = crate::up::prefix)]
    prefixes: Vec<IpNet>,
    /// Probe the addresses in this lease file of dnsmasq or Kea (repeatable)
    #[arg(long, value_name = "FILE")]
    leases: Vec<PathBuf>,
    /// Cluster file to match machines against, if it exists
    #[arg(long, value_name = "FILE", default_value = "ichor.yaml")]
    file: PathBuf,
    #[command(flatten)]
    identity: IdentityFile,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = if args.file.exists() { Some(project::open(&args.file)?) } else { None };
    let prefixes = prefixes(args, project.as_ref())?;
    let credentials = credentials(args, project.as_ref())?;
    let found = connect::runtime()?.block_on(search(&prefixes, credentials.as_ref(), project.as_ref()))?;
    if args.format.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&found)?)?;
    } else {
        print(&found, &prefixes, project.as_ref(), out)?;
    }
    Ok(ExitCode::from(u8::from(found.is_empty())))
}

fn prefixes(args: &Args, project: Option<&Project>) -> anyhow::Result<Vec<IpNet>> {
    let mut prefixes = args.prefixes.clone();
    let leased = leases::read(&args.leases)?;
    prefixes.extend(leased.iter().map(|lease| IpNet::from(lease.address)));
    if args.prefixes.is_empty() && args.leases.is_empty() {
        let of_file = project.map(|project| project.plan.cluster.node.iter().map(|(net, _)| net));
        prefixes.extend(of_file.into_iter().flatten());
        // Machines may boot in another network than the one they are configured for.
        let nodes = project.iter().flat_map(|project| &project.plan.nodes);
        let booting = nodes.filter_map(|node| node.stages.dhcp());
        prefixes.extend(booting.map(IpNet::from));
    }
    if prefixes.is_empty() && args.leases.is_empty() {
        bail!("no prefix to scan; pass one, such as `ichor discover 10.0.0.0/24`");
    }
    for prefix in &prefixes {
        if let IpNet::V4(net) = prefix
            && 1_u64 << (32 - net.prefix_len()) > u64::from(MAX_ADDRESSES)
        {
            bail!(
                "{prefix} has more than {MAX_ADDRESSES} addresses; pass a longer prefix, such as {}/24",
                net.addr()
            );
        }
    }
    Ok(prefixes)
}

/// The credentials that identify nodes of this cluster, if it has secrets yet.
fn credentials(args: &Args, project: Option<&Project>) -> anyhow::Result<Option<Arc<Credentials>>> {
    let Some(project) = project.filter(|project| cluster_secrets::bundle_file::bundle_path(project).exists())
    else {
        return Ok(None);
    };
    let (bundle, admin) = cluster_secrets::open_secrets(project, args.identity.path())?;
    Ok(Some(Arc::new(Credentials::new(&bundle.os.crt, &admin)?)))
}

async fn search(
    prefixes: &[IpNet],
    credentials: Option<&Arc<Credentials>>,
    project: Option<&Project>,
) -> anyhow::Result<Vec<DiscoveredMachine>> {
    let addresses = addresses(prefixes).await?;
    let progress = Progress::count("probing", addresses.len());
    let probes = stream::iter(addresses).map(|address| {
        let progress = &progress;
        async move {
            let found = probe(address, credentials).await;
            progress.step();
            found
        }
    });
    let found = probes.buffer_unordered(MAX_PARALLEL).filter_map(async |found| found).collect().await;
    drop(progress);
    let mut found = merge_addresses(found);
    if let Some(project) = project {
        for machine in &mut found {
            machine.match_node(&project.plan);
        }
    }
    Ok(found)
}

/// The addresses to probe: all of a small prefix, and the neighbours in a large one.
async fn addresses(prefixes: &[IpNet]) -> anyhow::Result<BTreeSet<IpAddr>> {
    let is_small =
        |prefix: &&IpNet| u32::from(prefix.max_prefix_len() - prefix.prefix_len()) <= MAX_ADDRESSES.ilog2();
    let mut all: BTreeSet<IpAddr> = prefixes.iter().filter(is_small).flat_map(IpNet::hosts).collect();
    if prefixes.iter().any(|prefix| !is_small(&prefix)) {
        let prefixes = prefixes.to_vec();
        let found = tokio::task::spawn_blocking(move || neighbours::in_prefixes(&prefixes)).await?;
        let found = found.context("cannot read the neighbour table")?;
        all.extend(found.into_iter().map(|(_, address)| address));
    }
    Ok(all)
}

/// The machine at an address, if one answers.
async fn probe(address: IpAddr, credentials: Option<&Arc<Credentials>>) -> Option<DiscoveredMachine> {
    let socket = SocketAddr::new(address, PORT);
    let open = time::timeout(CONNECT_TIMEOUT, TcpStream::connect(socket)).await;
    drop(open.ok()?.ok()?);
    let name = address.to_string();
    match NodeClient::meet(&name, socket, credentials.map(Arc::as_ref)).await.ok()? {
        ProbeResult::Other { peer, reason, .. } => {
            let mut found = DiscoveredMachine::new(address, DiscoveryState::Other, peer.pin);
            found.note = Some(reason);
            Some(found)
        }
        ProbeResult::Maintenance(node) => Some(query(&node, address, DiscoveryState::Maintenance).await),
        ProbeResult::Configured(node) => Some(query(&node, address, DiscoveryState::Configured).await),
    }
}

/// Queries the hardware of a machine; the first failed query is noted.
async fn query(node: &NodeClient, address: IpAddr, state: DiscoveryState) -> DiscoveredMachine {
    let mut found = DiscoveredMachine::new(address, state, node.peer().pin);
    let (links, disks, system, name, version) = tokio::join!(
        node.list::<LinkStatus>(),
        node.list::<Disk>(),
        node.get::<SystemInformation>(SystemInformation::ID),
        node.get::<HostnameStatus>(HostnameStatus::ID),
        node.version(),
    );
    let mut failures = Vec::new();
    match links {
        Ok(links) => found.add_links(&links),
        Err(error) => failures.push(error),
    }
    match disks {
        Ok(disks) => found.add_disks(&disks),
        Err(error) => failures.push(error),
    }
    match system {
        Ok(Some(system)) => found.add_system(&system),
        Ok(None) => {}
        Err(error) => failures.push(error),
    }
    match name {
        Ok(name) => found.hostname = name.map(|name| name.hostname).filter(|name| !name.is_empty()),
        Err(error) => failures.push(error),
    }
    match version {
        Ok(version) => found.talos = version.version.map(|version| version.tag),
        // Talos before 1.13 does not report its version in maintenance mode.
        Err(error) if error.kind() == NodeErrorKind::Unimplemented => {}
        Err(error) => failures.push(error),
    }
    found.note = failures.first().map(|error| format!("{}: {}", error.call(), error.answer()));
    found
}

fn print(
    found: &[DiscoveredMachine],
    prefixes: &[IpNet],
    project: Option<&Project>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if found.is_empty() {
        let searched: Vec<_> = prefixes.iter().map(ToString::to_string).collect();
        style::say(&if searched.is_empty() {
            "no active leases".to_owned()
        } else {
            format!("no machine answered on port {PORT} in {}", searched.join(", "))
        });
        return Ok(());
    }
    let rows: Vec<_> = found.iter().map(DiscoveredMachine::row).collect();
    table::print(out, &HEADING, &rows)?;
    let taken: Vec<String> =
        project.iter().flat_map(|it| &it.plan.nodes).map(|node| node.name.to_string()).collect();
    if let Some(text) = new_nodes_yaml(found, &taken) {
        style::say("machines that are not in the cluster file; set the name, role and index of each:");
        writeln!(out)?;
        write!(out, "{text}")?;
    }
    Ok(())
}

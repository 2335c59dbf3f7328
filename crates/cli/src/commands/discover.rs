//! `discover`: find machines that wait for their configuration.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::{StreamExt as _, stream};
use ichor_core::observe::found::{Found, FoundState, HEADING, paste};
use ichor_talos::api::PORT;
use ichor_talos::resource::{Disk, HostnameStatus, LinkStatus, SystemInformation};
use ipnet::IpNet;
use tokio::net::TcpStream;
use tokio::time;

use crate::argument::{Format, IdentityFile};
use crate::progress::Progress;
use crate::project::{self, Project};
use crate::reach;
use crate::up::{leases, neighbours};
use crate::{style, table, vault};
use ichor_client::talos::{Credentials, Kind, Met, Node};

/// The most addresses of a prefix that are tried one by one.
const MOST: u32 = 1 << 16;
/// So many are tried at once.
const AT_ONCE: usize = 400;
/// How long a machine on a network at hand takes to answer at most.
const NEAR: Duration = Duration::from_secs(1);

/// Find machines in maintenance mode, with their MAC addresses, disks and links, ready to paste into the file
///
/// Port 50000 is tried on every address of the prefixes that are named, and on those of this machine's neighbours in them; of long
/// IPv6 prefixes on the neighbours alone. Without a prefix those of the cluster file are taken (network.node). Each machine is asked
/// what it is made of, and recognised by its MAC addresses if the file has them. With --leases the addresses that DHCP servers gave are
/// tried. Nothing is changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The fingerprint is what Talos shows on its console, and what `talosctl --cert-fingerprint` takes.\n\
                        Exit status: 0 something was found, 1 nothing, 2 it could not be looked for.\n\n\
                        Examples:\n  ichor discover 10.0.0.0/24\n  ichor discover 10.0.0.0/24 fd00:10::/64 --json\n  \
                        ichor discover --leases /var/lib/misc/dnsmasq.leases\n  ichor discover"
)]
pub(crate) struct Args {
    /// Prefixes to look in, such as 10.0.0.0/24
    #[arg(value_parser = crate::up::prefix)]
    prefixes: Vec<IpNet>,
    /// Probe the addresses in this lease file of dnsmasq or Kea
    #[arg(long, value_name = "FILE")]
    leases: Vec<PathBuf>,
    /// Cluster file, by which machines are recognised, if it is there
    #[arg(long, value_name = "FILE", default_value = "ichor.yaml")]
    file: PathBuf,
    #[command(flatten)]
    identity: IdentityFile,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = if args.file.exists() { Some(project::open(&args.file)?) } else { None };
    let prefixes = prefixes(args, project.as_ref())?;
    let credentials = credentials(args, project.as_ref())?;
    let found = reach::runtime()?.block_on(search(&prefixes, credentials.as_ref(), project.as_ref()))?;
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
        // Where machines boot need not be where they will be.
        let nodes = project.iter().flat_map(|project| &project.plan.nodes);
        let booting = nodes.filter_map(|node| node.stages.dhcp());
        prefixes.extend(booting.map(IpNet::from));
    }
    if prefixes.is_empty() && args.leases.is_empty() {
        bail!("nothing says where to look: name a prefix, such as `ichor discover 10.0.0.0/24`");
    }
    for prefix in &prefixes {
        if let IpNet::V4(net) = prefix
            && 1_u64 << (32 - net.prefix_len()) > u64::from(MOST)
        {
            bail!(
                "{prefix} has more than {MOST} addresses: name a smaller part of it, such as {}/24",
                net.addr()
            );
        }
    }
    Ok(prefixes)
}

/// What tells machines of this cluster from those of others, if there are secrets yet.
fn credentials(args: &Args, project: Option<&Project>) -> anyhow::Result<Option<Arc<Credentials>>> {
    let Some(project) = project.filter(|project| vault::place::bundle_of(project).exists()) else {
        return Ok(None);
    };
    let (bundle, admin) = vault::secrets(project, args.identity.path())?;
    Ok(Some(Arc::new(Credentials::new(&bundle.os.crt, &admin)?)))
}

async fn search(
    prefixes: &[IpNet],
    credentials: Option<&Arc<Credentials>>,
    project: Option<&Project>,
) -> anyhow::Result<Vec<Found>> {
    let addresses = addresses(prefixes).await?;
    let progress = Progress::count("looking", addresses.len());
    let looks = stream::iter(addresses).map(|address| {
        let progress = &progress;
        async move {
            let found = look(address, credentials).await;
            progress.step();
            found
        }
    });
    let mut found: Vec<Found> =
        looks.buffer_unordered(AT_ONCE).filter_map(async |found| found).collect().await;
    drop(progress);
    if let Some(project) = project {
        for machine in &mut found {
            machine.recognise(&project.plan);
        }
    }
    found.sort_by_key(|it| it.address);
    Ok(found)
}

/// Every address to try: those of short prefixes, and those of neighbours.
async fn addresses(prefixes: &[IpNet]) -> anyhow::Result<BTreeSet<IpAddr>> {
    let short = |prefix: &&IpNet| u32::from(prefix.max_prefix_len() - prefix.prefix_len()) <= MOST.ilog2();
    let mut all: BTreeSet<IpAddr> = prefixes.iter().filter(short).flat_map(IpNet::hosts).collect();
    if prefixes.iter().any(|prefix| !short(&prefix)) {
        let asked = prefixes.to_vec();
        let found = tokio::task::spawn_blocking(move || neighbours::in_prefixes(&asked)).await?;
        let found = found.context("cannot read the neighbour table")?;
        all.extend(found.into_iter().map(|(_, address)| address));
    }
    Ok(all)
}

/// Who is at an address; none where nobody is.
async fn look(address: IpAddr, credentials: Option<&Arc<Credentials>>) -> Option<Found> {
    let socket = SocketAddr::new(address, PORT);
    let open = time::timeout(NEAR, TcpStream::connect(socket)).await;
    drop(open.ok()?.ok()?);
    let name = address.to_string();
    match Node::meet(&name, socket, credentials.map(Arc::as_ref)).await.ok()? {
        Met::Other { peer, reason, .. } => {
            let mut found = Found::new(address, FoundState::Other, peer.pin);
            found.note = Some(reason);
            Some(found)
        }
        Met::Maintenance(node) => Some(ask(&node, address, FoundState::Maintenance).await),
        Met::Configured(node) => Some(ask(&node, address, FoundState::Configured).await),
    }
}

/// What a machine tells of itself; what it does not tell is noted.
async fn ask(node: &Node, address: IpAddr, state: FoundState) -> Found {
    let mut found = Found::new(address, state, node.peer().pin);
    let (links, disks, system, name, version) = tokio::join!(
        node.list::<LinkStatus>(),
        node.list::<Disk>(),
        node.get::<SystemInformation>(SystemInformation::ID),
        node.get::<HostnameStatus>(HostnameStatus::ID),
        node.version(),
    );
    let mut untold = Vec::new();
    match links {
        Ok(links) => found.add_links(&links),
        Err(error) => untold.push(error),
    }
    match disks {
        Ok(disks) => found.add_disks(&disks),
        Err(error) => untold.push(error),
    }
    match system {
        Ok(Some(system)) => found.add_system(&system),
        Ok(None) => {}
        Err(error) => untold.push(error),
    }
    match name {
        Ok(name) => found.hostname = name.map(|name| name.hostname).filter(|name| !name.is_empty()),
        Err(error) => untold.push(error),
    }
    match version {
        Ok(version) => found.talos = version.version.map(|version| version.tag),
        // Before 1.13 a machine does not tell it in maintenance mode.
        Err(error) if error.kind() == Kind::Unimplemented => {}
        Err(error) => untold.push(error),
    }
    found.note = untold.first().map(|error| format!("{}: {}", error.call(), error.answer()));
    found
}

fn print(
    found: &[Found],
    prefixes: &[IpNet],
    project: Option<&Project>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if found.is_empty() {
        let searched: Vec<_> = prefixes.iter().map(ToString::to_string).collect();
        style::say(&if searched.is_empty() {
            "no lease is in force".to_owned()
        } else {
            format!("nobody answers on port {PORT} in {}", searched.join(", "))
        });
        return Ok(());
    }
    let rows: Vec<_> = found.iter().map(Found::row).collect();
    table::print(out, &HEADING, &rows)?;
    let taken: Vec<String> =
        project.iter().flat_map(|it| &it.plan.nodes).map(|node| node.name.to_string()).collect();
    if let Some(text) = paste(found, &taken) {
        style::say("machines that are not in the file; give each a name, a role and an index:");
        writeln!(out)?;
        write!(out, "{text}")?;
    }
    Ok(())
}

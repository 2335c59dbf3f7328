//! FRR 8.4 to 10 on a router: `frr.conf`, and a drop-in for Proxmox SDN.
//!
//! All import and export policies are explicit: routes from nodes are filtered by the cluster file (`NODES-IN`), and nodes
//! receive all routes and a default route.
//!
//! Proxmox SDN rewrites `/etc/frr/frr.conf` at every change and merges `/etc/frr/frr.conf.local` into it. It understands
//! numbered prefix lists, route maps, interfaces and `router bgp`; lines with an exclamation mark anywhere are skipped, and
//! other sections are dropped. Lines of `router bgp ASN vrf NAME` are merged into the block that Proxmox writes for the zone, if
//! the AS number is that of the zone's controller.

use ipnet::IpNet;

use super::{MOST_PREFIXES, PeerGroup, group};
use crate::routing::FabricRouter;
use crate::routing::router::RouterPeer;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::model::{Bfd, Family};
use ichor_bgp::render::frr::writer::{FrrWriter, words};
use ichor_values::SoftwareVersion;

/// Proxmox' prefix for the VRF name of a zone.
const ZONE: &str = "vrf_";

/// FRR's BFD timers without a profile.
const DEFAULT_BFD: Bfd = Bfd { interval: 300, multiplier: 3 };

/// FRR's default limit of sessions from listen ranges.
const LISTEN_LIMIT: usize = 100;

/// Whether a router is a zone of Proxmox SDN.
pub(crate) fn is_in_proxmox(router: &FabricRouter) -> bool {
    router.vrf.as_deref().is_some_and(|vrf| vrf.starts_with(ZONE))
}

/// Settings that Proxmox would drop: the key that requests each, and the fix.
pub(crate) fn dropped_by_proxmox(groups: &[PeerGroup<'_>]) -> Vec<(&'static str, &'static str)> {
    let has = |dropped: &dyn Fn(&PeerGroup<'_>) -> bool| groups.iter().any(dropped);
    let mut dropped = Vec::new();
    if has(&|group| group.password.as_deref().is_some_and(|password| password.contains('!'))) {
        let reason =
            "Proxmox SDN drops lines of frr.conf.local with an exclamation mark; use another password";
        dropped.push((".password", reason));
    }
    if has(&|group| group.bfd.is_some_and(|bfd| bfd != DEFAULT_BFD)) {
        let reason = "Proxmox SDN drops the BFD profiles of frr.conf.local, without which FRR uses `interval: 300` and \
                              `multiplier: 3`; set these on both ends, or `bfd: false`";
        dropped.push((".bfd", reason));
    }
    dropped
}

/// The complete configuration of a router.
pub fn complete_config(router: &FabricRouter, groups: &[PeerGroup<'_>]) -> String {
    let mut conf = FrrConfig { page: FrrWriter::default(), prefix: String::new(), shared: false };
    conf.page.line(format_args!("! {}: written by ichor", router.name));
    conf.page.line("frr defaults datacenter");
    conf.page.line(format_args!("hostname {}", router.name));
    conf.page.line("ip forwarding");
    conf.page.line("ipv6 forwarding");
    let sessions = router.peers.iter().map(|peer| &peer.session);
    conf.page.disable_next_hop_groups(router.version.as_ref().map(SoftwareVersion::minor), sessions);
    conf.page.bfd_profiles(&profiles(groups));
    conf.add_all(router, groups);
    conf.page.text()
}

/// The drop-in for a configuration that Proxmox SDN writes. Names have the cluster's as prefix, so that several clusters can
/// share a router.
pub(crate) fn drop_in(cluster: &str, router: &FabricRouter, groups: &[PeerGroup<'_>]) -> String {
    let mut conf = FrrConfig { page: FrrWriter::default(), prefix: format!("{cluster}-"), shared: true };
    conf.page.line(format_args!("! {}: written by ichor for /etc/frr/frr.conf.local", router.name));
    conf.add_all(router, groups);
    conf.page.text()
}

/// The `daemons` file, which enables FRR's daemons.
pub fn daemons(router: &FabricRouter, groups: &[PeerGroup<'_>]) -> String {
    let mgmtd = router.version.as_ref().is_none_or(|version| version.minor().0 >= 9);
    let runs = [
        ("mgmtd", mgmtd),
        ("zebra", true),
        ("bgpd", true),
        ("bfdd", !profiles(groups).is_empty()),
        ("staticd", true),
    ];
    let mut text = format!("# {}: written by ichor\n", router.name);
    for (name, runs) in runs {
        text += &format!("{name}={}\n", if runs { "yes" } else { "no" });
        if runs {
            // Without this each daemon opens a vty on a TCP port of every address.
            text += &format!("{name}_options=\"-P 0\"\n");
        }
    }
    text + "vtysh_enable=yes\n"
}

fn profiles(groups: &[PeerGroup<'_>]) -> Vec<Bfd> {
    let mut profiles: Vec<_> = groups.iter().filter_map(|group| group.bfd).collect();
    profiles.sort();
    profiles.dedup();
    profiles
}

/// The `remote-as` keyword of a group.
fn remote_as(group: &PeerGroup<'_>) -> &'static str {
    if group.internal { "internal" } else { "external" }
}

struct FrrConfig {
    page: FrrWriter,
    /// Prefix of every name.
    prefix: String,
    /// Whether it is a drop-in for Proxmox SDN.
    shared: bool,
}

impl FrrConfig {
    fn add_all(&mut self, router: &FabricRouter, groups: &[PeerGroup<'_>]) {
        for peer in groups.iter().flat_map(|group| &group.peers) {
            if let PeerAddress::Port { name, .. } = &peer.session.found {
                self.page.port(name.as_str());
            }
        }
        self.policy(router, groups);
        self.instance(router, groups);
    }

    fn policy(&mut self, router: &FabricRouter, groups: &[PeerGroup<'_>]) {
        if groups.iter().any(|group| group.nodes) {
            for family in Family::ALL {
                let (ip, _, suffix) = words(family);
                let list = format!("{}NODES-ALLOWED-{suffix}", self.prefix);
                let terms: Vec<_> = router.accepts.rules_for(family).copied().collect();
                self.page.prefix_list(&list, family, &terms);
                let head = format!("route-map {}NODES-IN-{suffix} permit 10", self.prefix);
                self.page.section(head, &[format!("match {ip} address prefix-list {list}")]);
            }
        }
        if !groups.is_empty() {
            self.page.section(format_args!("route-map {}PERMIT-ALL permit 10", self.prefix), &[]);
        }
    }

    fn instance(&mut self, router: &FabricRouter, groups: &[PeerGroup<'_>]) {
        let asn = router.asn.map(|asn| asn.to_string()).unwrap_or_default();
        match &router.vrf {
            Some(vrf) => self.page.line(format_args!("router bgp {asn} vrf {vrf}")),
            None => self.page.line(format_args!("router bgp {asn}")),
        }
        if !self.shared {
            self.page.line(format_args!(" bgp router-id {}", router.router_id));
        }
        self.page.line(" no bgp default ipv4-unicast");
        // Nodes have different AS numbers: without this there is no multipath to an anycast address.
        self.page.line(" bgp bestpath as-path multipath-relax");
        for group in groups {
            self.group(group);
        }
        for (group, (range, _)) in groups.iter().filter_map(|group| Some((group, group.range?))) {
            self.range(group, range);
        }
        let accepted: usize = groups.iter().filter_map(|group| group.range).map(|(_, count)| count).sum();
        if accepted > LISTEN_LIMIT / 2 {
            self.page.line(format_args!(" bgp listen limit {}", (accepted * 2).min(65_535)));
        }
        for family in Family::ALL {
            let lines: Vec<_> = groups
                .iter()
                .filter(|group| group.families.contains(&family))
                .flat_map(|group| self.family_lines(group, family))
                .collect();
            if !lines.is_empty() {
                self.page.family(family, &lines);
            }
        }
        self.page.line("exit");
    }

    fn group(&mut self, group: &PeerGroup<'_>) {
        let name = format!("{}{}", self.prefix, group.name);
        self.page.line(format_args!(" neighbor {name} peer-group"));
        if group.range.is_some() {
            self.page.line(format_args!(" neighbor {name} remote-as {}", remote_as(group)));
        }
        if let Some(password) = &group.password {
            self.page.line(format_args!(" neighbor {name} password {password}"));
        }
        // Proxmox drops BFD profiles.
        let profile = group.bfd.filter(|_| !self.shared);
        self.page.timing(&name, profile, group.timers);
        if self.shared && group.bfd.is_some() {
            self.page.line(format_args!(" neighbor {name} bfd"));
        }
        if group.extends {
            self.page.line(format_args!(" neighbor {name} capability extended-nexthop"));
        }
        for peer in &group.peers {
            self.peer(&name, peer, group);
        }
    }

    /// A listed session. In a group with `remote-as external`, FRR accepts no AS number per neighbour.
    fn peer(&mut self, name: &str, peer: &RouterPeer, group: &PeerGroup<'_>) {
        let ranged = group.range.is_some();
        let asn = peer.session.asn.filter(|_| !ranged).map(|asn| asn.to_string());
        let asn = asn.unwrap_or_else(|| remote_as(group).to_owned());
        let end = match &peer.session.found {
            PeerAddress::Port { name: port, .. } => {
                self.page.line(format_args!(" neighbor {port} interface v6only peer-group {name}"));
                self.page.line(format_args!(" neighbor {port} remote-as {asn}"));
                port.to_string()
            }
            PeerAddress::Address { source, .. } => {
                let Some(address) = group::address(peer) else { return };
                if !ranged {
                    self.page.line(format_args!(" neighbor {address} remote-as {asn}"));
                }
                self.page.line(format_args!(" neighbor {address} peer-group {name}"));
                if let Some(source) = source {
                    self.page.line(format_args!(" neighbor {address} update-source {source}"));
                }
                address.to_string()
            }
        };
        self.page.line(format_args!(" neighbor {end} description {}", peer.name));
    }

    fn range(&mut self, group: &PeerGroup<'_>, range: IpNet) {
        self.page.line(format_args!(" bgp listen range {range} peer-group {}{}", self.prefix, group.name));
    }

    fn family_lines(&self, group: &PeerGroup<'_>, family: Family) -> Vec<String> {
        let (_, _, suffix) = words(family);
        let (name, prefix) = (format!("{}{}", self.prefix, group.name), &self.prefix);
        let mut lines = vec![format!("neighbor {name} activate")];
        if group.nodes {
            lines.push(format!("neighbor {name} default-originate"));
            lines.push(format!("neighbor {name} maximum-prefix {MOST_PREFIXES}"));
        }
        let inward = if group.nodes { format!("NODES-IN-{suffix}") } else { "PERMIT-ALL".to_owned() };
        lines.push(format!("neighbor {name} route-map {prefix}{inward} in"));
        lines.push(format!("neighbor {name} route-map {prefix}PERMIT-ALL out"));
        lines
    }
}

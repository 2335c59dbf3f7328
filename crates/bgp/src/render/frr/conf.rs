//! `frr.conf`.
//!
//! The order matters: lists before the maps that use them, and the speaker's instance before the one that imports it. FRR 8.4
//! would else make the instance itself when it reads `import vrf`, and refuse the real one.

use std::net::IpAddr;

use ipnet::IpNet;

use super::community;
use super::page::{FrrWriter, words};
use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{BgpModel, Family, PrefixFilter, PrefixRule, RoutingDomain, Workload};
use crate::setting::Advertise;

/// The file, for a release. `gateway` is where the speaker's routes point when nothing keeps them apart from the node's.
pub(crate) fn render(
    model: &BgpModel,
    passwords: &[Option<String>],
    gateway: Option<IpAddr>,
    version: (u16, u16),
) -> String {
    let passing = passes_by(model, version);
    let mut conf = FrrWriter::default();
    conf.head(model);
    conf.whole_routes(Some(version), &model.fabric.neighbors);
    conf.bfd_profiles(&model.bfd());
    conf.ports(model);
    conf.own_addresses(model);
    conf.fabric_policy(model);
    if let Some(workload) = &model.workload {
        conf.speaker_policy(workload, gateway);
    }
    conf.tables(model, passing);
    if let Some(workload) = &model.workload {
        conf.workload(model, workload);
    }
    conf.fabric(model, passwords, passing.is_some());
    conf.uses_of_tables(model);
    conf.text()
}

/// The first neighbour that has an address of the family of the link to the speaker.
pub fn gateway(model: &BgpModel) -> Option<IpAddr> {
    let link = model.workload.as_ref()?.theirs.address;
    model.fabric.neighbors.iter().find_map(|neighbor| match neighbor.found {
        PeerAddress::Address { address, .. } if address.is_ipv4() == link.is_ipv4() => Some(address),
        _ => None,
    })
}

/// The table map between bgpd and zebra.
const EXCLUDE_LOAD_BALANCER: &str = "EXCLUDE-LOAD-BALANCER";

/// The load balancer in names of lists, maps and peer groups.
const LOAD_BALANCER: &str = "LOAD-BALANCER";

/// The list of own addresses of a kind.
fn list_of(kind: Advertise) -> &'static str {
    match kind {
        Advertise::Loopback => "LOOPBACK-ADDRESSES",
        Advertise::Dummy => "DUMMY-ADDRESSES",
        Advertise::Anycast => "ANYCAST-ADDRESSES",
    }
}

impl FrrWriter {
    fn head(&mut self, model: &BgpModel) {
        self.line(format_args!("! {}: written by ichor", model.name));
        for neighbor in &model.fabric.neighbors {
            if let PeerAddress::Port { name, mac: Some(mac) } = &neighbor.found {
                self.line(format_args!("! {name} is the port with the MAC address {mac}"));
            }
        }
        self.line("frr defaults datacenter");
        self.line(format_args!("hostname {}", model.name));
        // bgpd refuses connections for this long after it has read this: 5 s if it is not told otherwise. With 0 later
        // changes of route maps would never take effect.
        self.line("bgp route-map delay-timer 1");
    }

    /// Router advertisements, by which neighbours without addresses find each other.
    fn ports(&mut self, model: &BgpModel) {
        for neighbor in &model.fabric.neighbors {
            if let PeerAddress::Port { name, .. } = &neighbor.found {
                self.port(name.as_str());
            }
        }
    }

    /// What of the connected routes is announced: exactly the addresses that are meant.
    fn own_addresses(&mut self, model: &BgpModel) {
        for family in Family::ALL {
            let (ip, _, suffix) = words(family);
            let lists = own_lists(model, family);
            for (list, nets) in &lists {
                let terms: Vec<_> = nets.iter().map(|net| PrefixRule::exactly(true, *net)).collect();
                self.prefix_list(&format!("{list}-{suffix}"), family, &terms);
            }
            for (nth, (list, _)) in lists.iter().enumerate() {
                let head = format!("route-map NODE-ADDRESSES-{suffix} permit {}", (nth + 1) * 10);
                self.section(head, &[format!("match {ip} address prefix-list {list}-{suffix}")]);
            }
        }
    }

    /// Only what starts here or at the speaker goes out, whatever the prefix: else a node between two leafs is transit.
    fn fabric_policy(&mut self, model: &BgpModel) {
        self.line("bgp as-path access-list NODE-ORIGINATED seq 5 permit ^$");
        if let Some(workload) = &model.workload {
            self.line(format_args!(
                "bgp as-path access-list NODE-ORIGINATED seq 10 permit ^{}$",
                workload.theirs.asn
            ));
        }
        let outward = &model.fabric.outward;
        let mut lines = vec!["match as-path NODE-ORIGINATED".to_owned()];
        let (plain, large) = community::words(&outward.communities);
        lines.extend(plain.map(|words| format!("set community {words} additive")));
        lines.extend(large.map(|words| format!("set large-community {words} additive")));
        if outward.prepend > 0 {
            let again = vec![model.asn.to_string(); usize::from(outward.prepend)];
            lines.push(format!("set as-path prepend {}", again.join(" ")));
        }
        self.section("route-map FABRIC-OUT permit 10", &lines);
        let inward = &model.fabric.inward;
        let preference = inward.local_preference.map(|number| format!("set local-preference {number}"));
        self.gate("FABRIC", &inward.filter, &Family::ALL, preference.as_slice());
    }

    fn speaker_policy(&mut self, workload: &Workload, gateway: Option<IpAddr>) {
        // Both ends are here, so the next hop is one of the node's own and FRR would take it for a mistake.
        let next_hop =
            gateway.filter(|_| workload.domain == RoutingDomain::Shared).map(|gateway| match gateway {
                IpAddr::V4(gateway) => format!("set ip next-hop {gateway}"),
                IpAddr::V6(gateway) => format!("set ipv6 next-hop global {gateway}"),
            });
        self.gate(LOAD_BALANCER, &workload.filter, &workload.families, next_hop.as_slice());
        self.section(format_args!("route-map {LOAD_BALANCER}-OUT deny 10"), &[]);
    }

    /// A map for each family that lets through what a filter does, and sets something on it.
    fn gate(&mut self, name: &str, filter: &PrefixFilter, families: &[Family], set: &[String]) {
        for &family in families {
            let (ip, _, suffix) = words(family);
            let list = format!("{name}-ALLOWED-{suffix}");
            let terms: Vec<_> = filter.of(family).copied().collect();
            self.prefix_list(&list, family, &terms);
            let mut lines = vec![format!("match {ip} address prefix-list {list}")];
            lines.extend_from_slice(set);
            self.section(format_args!("route-map {name}-IN-{suffix} permit 10"), &lines);
        }
    }

    /// What of the learnt routes enters the node's own table, and the source address of what the node sends over them. Those
    /// over the link to the speaker are for others. In a namespace their port has a number that another port has here, so
    /// that FRR would send service addresses back to the fabric.
    fn tables(&mut self, model: &BgpModel, passing: Option<&Workload>) {
        for (family, name) in table_maps(model) {
            if let Some(workload) = apart(model) {
                let lines = [format!("match interface {}", workload.ours.link)];
                self.section(format_args!("route-map {name} deny 5"), &lines);
            }
            let source = source(model, family).map(|source| format!("set src {source}"));
            self.section(format_args!("route-map {name} permit 10"), source.as_slice());
        }
        if let Some(workload) = passing {
            self.line(format_args!(
                "bgp as-path access-list FROM-LOAD-BALANCER seq 5 permit ^{}_",
                workload.theirs.asn
            ));
            self.section(
                format_args!("route-map {EXCLUDE_LOAD_BALANCER} deny 5"),
                &["match as-path FROM-LOAD-BALANCER".to_owned()],
            );
            self.section(format_args!("route-map {EXCLUDE_LOAD_BALANCER} permit 10"), &[]);
        }
    }

    fn uses_of_tables(&mut self, model: &BgpModel) {
        for (family, name) in table_maps(model) {
            let (ip, ..) = words(family);
            self.line(format_args!("{ip} protocol bgp route-map {name}"));
        }
    }

    /// The instance toward the speaker, where it has one of its own. Its AS number is the node's: FRR 10 puts the number of
    /// an instance that another imports into the path, FRR 8 does not, and only so both announce the same.
    fn workload(&mut self, model: &BgpModel, workload: &Workload) {
        let Some(domain) = workload.domain.name() else { return };
        let peer = workload.theirs.address.to_string();
        self.line(format_args!("router bgp {} vrf {domain}", model.asn));
        self.instance(model);
        self.speaker(model, &peer, workload);
        self.line(format_args!(" neighbor {peer} passive"));
        for &family in &workload.families {
            self.family(family, &speaker_lines(&peer, family));
        }
        self.line("exit");
    }

    /// What every instance starts with.
    fn instance(&mut self, model: &BgpModel) {
        self.line(format_args!(" bgp router-id {}", model.router_id));
        self.line(" no bgp default ipv4-unicast");
        // Else bgpd waits a second before its first update. Without waiting at all, FRR 8.4 now and then tells neighbours
        // that a restart is over before it has told all routes, and they drop those for a moment.
        let wait = if model.fabric.graceful_restart.is_some() { 250 } else { 0 };
        self.line(format_args!(" coalesce-time {wait}"));
    }

    fn speaker(&mut self, model: &BgpModel, peer: &str, workload: &Workload) {
        self.line(format_args!(" neighbor {peer} remote-as {}", workload.theirs.asn));
        // FRR refuses the instance's own number here.
        if workload.ours.asn != model.asn {
            self.line(format_args!(" neighbor {peer} local-as {} no-prepend replace-as", workload.ours.asn));
        }
        self.timing(peer, workload.bfd, workload.timers);
        if workload.extends_next_hops() {
            self.line(format_args!(" neighbor {peer} capability extended-nexthop"));
        }
    }

    /// The instance in the node's own table.
    fn fabric(&mut self, model: &BgpModel, passwords: &[Option<String>], maps: bool) {
        self.line(format_args!("router bgp {}", model.asn));
        self.instance(model);
        self.line(" bgp bestpath as-path multipath-relax");
        if let Some(time) = model.fabric.graceful_restart {
            self.line(" bgp graceful-restart");
            self.line(format_args!(" bgp graceful-restart restart-time {time}"));
            self.line(" bgp graceful-restart preserve-fw-state");
        }
        for (neighbor, password) in model.fabric.neighbors.iter().zip(passwords) {
            self.neighbor(neighbor, password.as_deref());
        }
        let shared = model.workload.as_ref().filter(|workload| workload.domain == RoutingDomain::Shared);
        if let Some(workload) = shared {
            self.listen(model, workload);
        }
        for family in Family::ALL {
            let mut lines = fabric_lines(model, family, shared.is_some());
            if maps && family == Family::V4 {
                lines.insert(0, format!("table-map {EXCLUDE_LOAD_BALANCER}"));
            }
            if shared.is_some_and(|workload| workload.families.contains(&family)) {
                lines.extend(speaker_lines(LOAD_BALANCER, family));
            }
            self.family(family, &lines);
        }
        self.line("exit");
    }

    fn neighbor(&mut self, neighbor: &Neighbor, password: Option<&str>) {
        let peer = peer(neighbor);
        let asn = neighbor.asn.map_or_else(|| "external".to_owned(), |asn| asn.to_string());
        match &neighbor.found {
            PeerAddress::Port { .. } => {
                self.line(format_args!(" neighbor {peer} interface v6only remote-as {asn}"));
            }
            PeerAddress::Address { source, .. } => {
                self.line(format_args!(" neighbor {peer} remote-as {asn}"));
                if let Some(source) = source {
                    self.line(format_args!(" neighbor {peer} update-source {source}"));
                }
            }
        }
        if let Some(password) = password {
            self.line(format_args!(" neighbor {peer} password {password}"));
        }
        if neighbor.passive {
            self.line(format_args!(" neighbor {peer} passive"));
        }
        self.timing(&peer, neighbor.bfd, neighbor.timers);
        if neighbor.extends_next_hops() {
            self.line(format_args!(" neighbor {peer} capability extended-nexthop"));
        }
    }

    /// A speaker in the node's own table: its address is one of the node's, which FRR takes from a range only.
    fn listen(&mut self, model: &BgpModel, workload: &Workload) {
        self.line(format_args!(" neighbor {LOAD_BALANCER} peer-group"));
        self.speaker(model, LOAD_BALANCER, workload);
        self.line(format_args!(" neighbor {LOAD_BALANCER} disable-connected-check"));
        let link = IpNet::new(workload.ours.address, workload.prefix).map(|net| net.trunc());
        let link = link.unwrap_or_else(|_| IpNet::from(workload.theirs.address));
        self.line(format_args!(" bgp listen range {link} peer-group {LOAD_BALANCER}"));
    }
}

/// The speaker, where something keeps its routes apart from the node's.
fn apart(model: &BgpModel) -> Option<&Workload> {
    model.workload.as_ref().filter(|workload| workload.domain != RoutingDomain::Shared)
}

/// The speaker whose IPv4 routes have IPv6 next hops. About such routes zebra of FRR 8.4 does not ask its map, and would send
/// service addresses around between the two ends of the link: bgpd itself has to keep them from it. FRR 10.3 asks, and its
/// bgpd must not: when its map refuses a new best route, the one before stays in the kernel, and leads to another node.
fn passes_by(model: &BgpModel, version: (u16, u16)) -> Option<&Workload> {
    apart(model).filter(|workload| version.0 < 9 && workload.extends_next_hops())
}

fn source(model: &BgpModel, family: Family) -> Option<IpAddr> {
    model.sources.iter().copied().find(|source| Family::of(IpNet::from(*source)) == family)
}

/// The maps between what is learnt and the node's own table: for each family that has something to say there.
fn table_maps(model: &BgpModel) -> impl Iterator<Item = (Family, &'static str)> {
    let maps = [(Family::V4, "SOURCE-ADDRESS-v4"), (Family::V6, "SOURCE-ADDRESS-v6")].into_iter();
    maps.filter(|(family, _)| {
        let crosses = apart(model).is_some_and(|workload| workload.families.contains(family));
        crosses || source(model, *family).is_some()
    })
}

fn peer(neighbor: &Neighbor) -> String {
    match &neighbor.found {
        PeerAddress::Port { name, .. } => name.to_string(),
        PeerAddress::Address { address, .. } => address.to_string(),
    }
}

/// The lists of own addresses in a family, without those that would be empty.
fn own_lists(model: &BgpModel, family: Family) -> Vec<(&'static str, Vec<IpNet>)> {
    let of = |kind| {
        let announced = model.fabric.announced.iter().filter(move |it| it.kind == kind);
        announced.map(|it| it.net).filter(|net| Family::of(*net) == family).collect::<Vec<_>>()
    };
    let lists = Advertise::ALL.iter().map(|&kind| (list_of(kind), of(kind)));
    lists.filter(|(_, nets)| !nets.is_empty()).collect()
}

fn fabric_lines(model: &BgpModel, family: Family, shared: bool) -> Vec<String> {
    let (_, _, suffix) = words(family);
    let mut lines = Vec::new();
    if !own_lists(model, family).is_empty() {
        lines.push(format!("redistribute connected route-map NODE-ADDRESSES-{suffix}"));
    }
    let aggregates = model.fabric.aggregates.iter().filter(|net| Family::of(**net) == family);
    lines.extend(aggregates.map(|net| format!("aggregate-address {net} summary-only")));
    for neighbor in model.fabric.neighbors.iter().filter(|it| it.families.contains(&family)) {
        let peer = peer(neighbor);
        lines.push(format!("neighbor {peer} activate"));
        if shared {
            lines.push(format!("neighbor {peer} next-hop-self"));
        }
        lines.push(format!("neighbor {peer} route-map FABRIC-IN-{suffix} in"));
        lines.push(format!("neighbor {peer} route-map FABRIC-OUT out"));
        lines.extend(
            model.fabric.inward.max_prefixes.map(|most| format!("neighbor {peer} maximum-prefix {most}")),
        );
    }
    let crosses = model.workload.as_ref().filter(|workload| workload.families.contains(&family));
    lines.extend(crosses.and_then(|it| it.domain.name()).map(|domain| format!("import vrf {domain}")));
    lines
}

fn speaker_lines(peer: &str, family: Family) -> Vec<String> {
    let (_, _, suffix) = words(family);
    vec![
        format!("neighbor {peer} activate"),
        format!("neighbor {peer} route-map {LOAD_BALANCER}-IN-{suffix} in"),
        format!("neighbor {peer} route-map {LOAD_BALANCER}-OUT out"),
    ]
}

//! `frr.conf`.
//!
//! The order matters: lists before the route maps that use them, and the load balancer's instance before the one that
//! imports it. Otherwise FRR 8.4 would create the instance itself when it reads `import vrf`, and reject the real one.

use std::net::IpAddr;

use ipnet::IpNet;

use super::community;
use super::writer::{FrrWriter, words};
use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{BgpModel, Family, PrefixFilter, PrefixRule, RoutingDomain, Workload};
use crate::setting::Advertise;

/// Renders the file for a release. `gateway` is the next hop of the load balancer's routes when they are not isolated
/// from the node's.
pub(crate) fn render(
    model: &BgpModel,
    passwords: &[Option<String>],
    gateway: Option<IpAddr>,
    version: (u16, u16),
) -> String {
    let excluded = excluded_load_balancer(model, version);
    let mut conf = FrrWriter::default();
    conf.head(model);
    conf.disable_next_hop_groups(Some(version), &model.fabric.neighbors);
    conf.bfd_profiles(&model.bfd());
    conf.ports(model);
    conf.own_addresses(model);
    conf.fabric_policy(model);
    if let Some(workload) = &model.workload {
        conf.speaker_policy(workload, gateway);
    }
    conf.tables(model, excluded);
    if let Some(workload) = &model.workload {
        conf.workload(model, workload);
    }
    conf.fabric(model, passwords, excluded.is_some());
    conf.apply_table_maps(model);
    conf.text()
}

/// The first neighbour with an address of the same family as the link to the load balancer.
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

/// The name of the prefix list for own addresses of a kind.
fn list_name(kind: Advertise) -> &'static str {
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
        // bgpd refuses connections for this long after it has read its configuration, by default 5 s. With 0, later
        // changes of route maps would never take effect.
        self.line("bgp route-map delay-timer 1");
    }

    /// Router advertisements, by which neighbours without addresses discover each other.
    fn ports(&mut self, model: &BgpModel) {
        for neighbor in &model.fabric.neighbors {
            if let PeerAddress::Port { name, .. } = &neighbor.found {
                self.port(name.as_str());
            }
        }
    }

    /// Selects the connected routes to announce: exactly the addresses of the model.
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

    /// Exports only routes that originate on this node or at its load balancer, whatever their prefix: otherwise a node
    /// between two leafs would provide transit.
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
        self.import_map("FABRIC", &inward.filter, &Family::ALL, preference.as_slice());
    }

    fn speaker_policy(&mut self, workload: &Workload, gateway: Option<IpAddr>) {
        // Both ends are on this node, so the next hop is one of the node's own addresses, which FRR would reject.
        let next_hop =
            gateway.filter(|_| workload.domain == RoutingDomain::Shared).map(|gateway| match gateway {
                IpAddr::V4(gateway) => format!("set ip next-hop {gateway}"),
                IpAddr::V6(gateway) => format!("set ipv6 next-hop global {gateway}"),
            });
        self.import_map(LOAD_BALANCER, &workload.filter, &workload.families, next_hop.as_slice());
        self.section(format_args!("route-map {LOAD_BALANCER}-OUT deny 10"), &[]);
    }

    /// A route map for each family that permits what a filter does, and applies `set`.
    fn import_map(&mut self, name: &str, filter: &PrefixFilter, families: &[Family], set: &[String]) {
        for &family in families {
            let (ip, _, suffix) = words(family);
            let list = format!("{name}-ALLOWED-{suffix}");
            let terms: Vec<_> = filter.rules_for(family).copied().collect();
            self.prefix_list(&list, family, &terms);
            let mut lines = vec![format!("match {ip} address prefix-list {list}")];
            lines.extend_from_slice(set);
            self.section(format_args!("route-map {name}-IN-{suffix} permit 10"), &lines);
        }
    }

    /// Which learnt routes enter the main table, and the source address of the node's own packets over them. Routes
    /// over the link to the load balancer are for other nodes. In a namespace, the interface index of the link belongs
    /// to another port outside it, so FRR would send service addresses back to the fabric.
    fn tables(&mut self, model: &BgpModel, excluded: Option<&Workload>) {
        for (family, name) in table_maps(model) {
            if let Some(workload) = isolated_load_balancer(model) {
                let lines = [format!("match interface {}", workload.ours.link)];
                self.section(format_args!("route-map {name} deny 5"), &lines);
            }
            let source = source(model, family).map(|source| format!("set src {source}"));
            self.section(format_args!("route-map {name} permit 10"), source.as_slice());
        }
        if let Some(workload) = excluded {
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

    fn apply_table_maps(&mut self, model: &BgpModel) {
        for (family, name) in table_maps(model) {
            let (ip, ..) = words(family);
            self.line(format_args!("{ip} protocol bgp route-map {name}"));
        }
    }

    /// The instance toward the load balancer, if it is isolated. Its AS number is the node's: FRR 10 adds the number of
    /// an instance that another imports to the path, FRR 8 does not, and this way both announce the same.
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

    /// The first lines of every instance.
    fn instance(&mut self, model: &BgpModel) {
        self.line(format_args!(" bgp router-id {}", model.router_id));
        self.line(" no bgp default ipv4-unicast");
        // By default, bgpd waits a second before its first update. Without any wait, FRR 8.4 sometimes signals the end
        // of a restart before it has sent all routes, and neighbours drop the others for a moment.
        let wait = if model.fabric.graceful_restart.is_some() { 250 } else { 0 };
        self.line(format_args!(" coalesce-time {wait}"));
    }

    fn speaker(&mut self, model: &BgpModel, peer: &str, workload: &Workload) {
        self.line(format_args!(" neighbor {peer} remote-as {}", workload.theirs.asn));
        // FRR rejects the instance's own number here.
        if workload.ours.asn != model.asn {
            self.line(format_args!(" neighbor {peer} local-as {} no-prepend replace-as", workload.ours.asn));
        }
        self.timing(peer, workload.bfd, workload.timers);
        if workload.extends_next_hops() {
            self.line(format_args!(" neighbor {peer} capability extended-nexthop"));
        }
    }

    /// The instance in the main table.
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

    /// A load balancer in the main table: its address is one of the node's, which FRR accepts only from a range.
    fn listen(&mut self, model: &BgpModel, workload: &Workload) {
        self.line(format_args!(" neighbor {LOAD_BALANCER} peer-group"));
        self.speaker(model, LOAD_BALANCER, workload);
        self.line(format_args!(" neighbor {LOAD_BALANCER} disable-connected-check"));
        let link = IpNet::new(workload.ours.address, workload.prefix).map(|net| net.trunc());
        let link = link.unwrap_or_else(|_| IpNet::from(workload.theirs.address));
        self.line(format_args!(" bgp listen range {link} peer-group {LOAD_BALANCER}"));
    }
}

/// The load balancer, if its routes are isolated from the node's.
fn isolated_load_balancer(model: &BgpModel) -> Option<&Workload> {
    model.workload.as_ref().filter(|workload| workload.domain != RoutingDomain::Shared)
}

/// The load balancer whose IPv4 routes have IPv6 next hops. zebra of FRR 8.4 does not apply its route map to such
/// routes, and would send service addresses back and forth between the two ends of the link: bgpd itself has to exclude
/// them. FRR 10.3 applies the route map, and its bgpd must not exclude them: when its map denies a new best route, the
/// previous one stays in the kernel, and leads to another node.
fn excluded_load_balancer(model: &BgpModel, version: (u16, u16)) -> Option<&Workload> {
    isolated_load_balancer(model).filter(|workload| version.0 < 9 && workload.extends_next_hops())
}

fn source(model: &BgpModel, family: Family) -> Option<IpAddr> {
    model.sources.iter().copied().find(|source| Family::of(IpNet::from(*source)) == family)
}

/// The route maps between BGP and the main table: one for each family that needs it.
fn table_maps(model: &BgpModel) -> impl Iterator<Item = (Family, &'static str)> {
    let maps = [(Family::V4, "SOURCE-ADDRESS-v4"), (Family::V6, "SOURCE-ADDRESS-v6")].into_iter();
    maps.filter(|(family, _)| {
        let crosses =
            isolated_load_balancer(model).is_some_and(|workload| workload.families.contains(family));
        crosses || source(model, *family).is_some()
    })
}

fn peer(neighbor: &Neighbor) -> String {
    match &neighbor.found {
        PeerAddress::Port { name, .. } => name.to_string(),
        PeerAddress::Address { address, .. } => address.to_string(),
    }
}

/// The prefix lists of own addresses in a family, except for empty ones.
fn own_lists(model: &BgpModel, family: Family) -> Vec<(&'static str, Vec<IpNet>)> {
    let addresses_of = |kind| {
        let announced = model.fabric.announced.iter().filter(move |it| it.kind == kind);
        announced.map(|it| it.net).filter(|net| Family::of(*net) == family).collect::<Vec<_>>()
    };
    let lists = Advertise::ALL.iter().map(|&kind| (list_name(kind), addresses_of(kind)));
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

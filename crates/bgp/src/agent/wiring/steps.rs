//! The steps from the existing state to a wiring.
//!
//! Their order never makes a link flap: VRF up, then the veth pair, our end into the VRF or namespace, MTU of both,
//! addresses, both up. What the load balancer needs comes last: where the kernel has no VRFs, everything before it is
//! still set up.

use ipnet::IpNet;

use super::conflict;
use super::sysctl::{self, Sysctl};
use super::{Conflict, KernelState, LinkRef, NamespaceState, Step, UnreachableDefault, VethLink, Wiring};
use crate::agent::Link;
use crate::model::{Family, RoutingDomain};

/// The steps that complete the existing state; none if it is complete.
pub fn steps(wiring: &Wiring, observed: &KernelState) -> Result<Vec<Step>, Vec<Conflict>> {
    let conflicts = conflict::find_conflicts(wiring, observed);
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut planner = StepPlanner { observed, steps: Vec::new() };
    planner.set_sysctls(sysctl::node_sysctls());
    planner.configure_ports(wiring);
    planner.remove_addresses(wiring);
    for extra in &wiring.extra_addresses {
        planner.add_extra_addresses(&extra.link, &extra.addresses);
    }
    if let Some(pair) = &wiring.pair {
        planner.create_pair(pair);
    }
    Ok(planner.steps)
}

/// One end of the veth pair.
struct VethEnd<'o> {
    at: LinkRef,
    found: Option<&'o Link>,
    net: IpNet,
    moved: bool,
}

struct StepPlanner<'o> {
    observed: &'o KernelState,
    steps: Vec<Step>,
}

impl<'o> StepPlanner<'o> {
    fn set_sysctls(&mut self, sysctls: impl IntoIterator<Item = Sysctl>) {
        let differs = |sysctl: &Sysctl| {
            self.observed.sysctls.get(&sysctl.path).is_none_or(|value| value != sysctl.value)
        };
        self.steps.extend(sysctls.into_iter().filter(differs).map(Step::Sysctl));
    }

    /// A missing port is configured once it appears.
    fn configure_ports(&mut self, wiring: &Wiring) {
        for port in &wiring.ports {
            if let Some(link) = self.observed.link(port) {
                self.set_sysctls(wiring.port_sysctls(port));
                self.set_up(LinkRef::on_node(port), Some(link));
            }
        }
    }

    /// Removes addresses of the agent that are no longer configured, and conflicting addresses on links that it
    /// created.
    fn remove_addresses(&mut self, wiring: &Wiring) {
        let namespaces = std::iter::once(None).chain(wiring.namespace().map(Some));
        for namespace in namespaces {
            for link in self.observed.links_in(namespace) {
                let at = LinkRef { link: link.name.clone(), namespace: namespace.map(str::to_owned) };
                let is_configured =
                    |net: &IpNet| wiring.addresses().any(|(place, wanted)| place == at && wanted == *net);
                let conflicts = |net: &IpNet| {
                    let same_address = |(place, wanted): (LinkRef, IpNet)| {
                        place.namespace == at.namespace && wanted.addr() == net.addr()
                    };
                    link.made && wiring.addresses().any(same_address)
                };
                let stale = link.addresses.iter().filter(|net| !is_configured(net));
                let stale = stale.filter(|net| link.given.contains(net) || conflicts(net));
                self.steps.extend(stale.map(|net| Step::RemoveAddress { at: at.clone(), net: *net }));
            }
        }
    }

    fn add_extra_addresses(&mut self, name: &str, addresses: &[IpNet]) {
        let found = self.observed.link(name);
        let dummy = Step::Dummy { name: name.to_owned() };
        if found.is_none() && !self.steps.contains(&dummy) {
            self.steps.push(dummy);
        }
        let at = LinkRef::on_node(name);
        self.enable_ipv6(&at, found, addresses);
        self.add_addresses(&at, found, addresses);
        self.set_up(at, found);
    }

    fn create_pair(&mut self, pair: &VethLink) {
        let (ours, theirs) = (pair.our_end(), pair.their_end());
        match &pair.domain {
            RoutingDomain::Vrf { name, table } => self.create_vrf(name, *table),
            RoutingDomain::Namespace { name } => self.create_namespace(name),
            RoutingDomain::Shared => {}
        }
        let waiting = self.observed.link(&pair.ours.0);
        let inside = self.observed.at(&ours);
        let speaker = self.observed.at(&theirs);
        let is_new = waiting.is_none() && inside.is_none();
        match (&ours.namespace, waiting, inside) {
            (_, None, None) => {
                let theirs = pair.theirs.0.clone();
                self.steps.push(Step::Pair { ours: ours.clone(), theirs, mtu: pair.mtu });
            }
            (Some(namespace), Some(_), None) => {
                self.steps.push(Step::Move { link: ours.link.clone(), namespace: namespace.clone() });
            }
            _ => {}
        }
        let ends = [
            VethEnd {
                found: inside,
                moved: self.set_master(&ours, inside, pair.vrf()),
                at: ours,
                net: pair.ours.1,
            },
            VethEnd {
                found: speaker,
                moved: self.set_master(&theirs, speaker, None),
                at: theirs,
                net: pair.theirs.1,
            },
        ];
        // One end at a time: the agent enters a namespace, and should do so once. The link works when both ends are up.
        for VethEnd { at, found, net, moved } in ends {
            if found.map_or(!is_new, |link| link.mtu != pair.mtu) {
                self.steps.push(Step::Mtu { at: at.clone(), mtu: pair.mtu });
            }
            self.enable_ipv6(&at, found, &[net]);
            // The kernel removes IPv6 addresses of a link that moves.
            self.add_addresses(&at, found.filter(|_| !moved), &[net]);
            self.set_up(at, found);
        }
    }

    fn create_vrf(&mut self, name: &str, table: u32) {
        let found = self.observed.link(name);
        if found.is_none() {
            self.steps.push(Step::Vrf { name: name.to_owned(), table });
        }
        for family in Family::ALL {
            let exists = |route: &UnreachableDefault| route.table == table && route.family == family;
            if !self.observed.unreachable_defaults.iter().any(exists) {
                self.steps.push(Step::UnreachableDefault { table, family });
            }
        }
        self.set_up(LinkRef::on_node(name), found);
    }

    fn create_namespace(&mut self, name: &str) {
        match &self.observed.inside {
            NamespaceState::Missing | NamespaceState::Half => {
                self.steps.push(Step::Namespace { name: name.to_owned() });
            }
            NamespaceState::There { .. } => {
                let lo = LinkRef { link: "lo".to_owned(), namespace: Some(name.to_owned()) };
                let found = self.observed.at(&lo);
                self.set_up(lo, found);
            }
        }
    }

    /// Moves a link into its VRF, or out of any; returns whether it had to be moved.
    fn set_master(&mut self, at: &LinkRef, found: Option<&Link>, vrf: Option<&str>) -> bool {
        let wanted = vrf.and_then(|vrf| self.observed.link(vrf)).map(|vrf| vrf.index);
        let is = found.and_then(|link| link.master);
        let link = at.link.clone();
        match vrf {
            Some(vrf) if is.is_none() || is != wanted => {
                self.steps.push(Step::Join { link, vrf: vrf.to_owned() });
            }
            None if is.is_some() => self.steps.push(Step::Leave { link }),
            _ => return false,
        }
        true
    }

    /// IPv6 may be disabled for links that are created later.
    fn enable_ipv6(&mut self, at: &LinkRef, found: Option<&Link>, addresses: &[IpNet]) {
        if at.namespace.is_some() || addresses.iter().all(|net| net.addr().is_ipv4()) {
            return;
        }
        let required = Sysctl::enable_ipv6(if found.is_some() { &at.link } else { "default" });
        if self.observed.sysctls.get(&required.path).is_some_and(|value| value != required.value) {
            self.steps.push(Step::Sysctl(Sysctl::enable_ipv6(&at.link)));
        }
    }

    fn add_addresses(&mut self, at: &LinkRef, found: Option<&Link>, addresses: &[IpNet]) {
        let missing = addresses.iter().filter(|net| found.is_none_or(|link| !link.addresses.contains(net)));
        self.steps.extend(missing.map(|net| Step::Address { at: at.clone(), net: *net }));
    }

    fn set_up(&mut self, at: LinkRef, found: Option<&Link>) {
        if found.is_none_or(|link| !link.up) {
            self.steps.push(Step::Up { at });
        }
    }
}

//! The way from what is there to what must be.
//!
//! The order never makes a link flap: VRF up, then the pair, our end into the VRF or namespace, the length of both, addresses,
//! both up. What the speaker needs comes last: where the kernel has no VRFs, everything before it is done all the same.

use ipnet::IpNet;

use super::conflict;
use super::switch::{self, Sysctl};
use super::{Conflict, KernelState, LinkRef, NamespaceState, Step, UnreachableDefault, VethLink, Wiring};
use crate::agent::Link;
use crate::model::{Family, RoutingDomain};

/// The steps that complete what is there; none when it is whole.
pub fn steps(wiring: &Wiring, observed: &KernelState) -> Result<Vec<Step>, Vec<Conflict>> {
    let conflicts = conflict::all(wiring, observed);
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut way = StepPlanner { observed, steps: Vec::new() };
    way.switch(switch::node());
    way.ports(wiring);
    way.withdraw(wiring);
    for carried in &wiring.carried {
        way.carried(&carried.link, &carried.addresses);
    }
    if let Some(pair) = &wiring.pair {
        way.pair(pair);
    }
    Ok(way.steps)
}

/// One end of the pair.
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
    fn switch(&mut self, switches: impl IntoIterator<Item = Sysctl>) {
        let wrong = |switch: &Sysctl| {
            self.observed.switches.get(&switch.path).is_none_or(|value| value != switch.value)
        };
        self.steps.extend(switches.into_iter().filter(wrong).map(Step::Switch));
    }

    /// A port that is missing is left for when it comes.
    fn ports(&mut self, wiring: &Wiring) {
        for port in &wiring.ports {
            if let Some(link) = self.observed.link(port) {
                self.switch(wiring.switches_of(port));
                self.up(LinkRef::here(port), Some(link));
            }
        }
    }

    /// Takes back what was given and is not meant any more, and what is in the way on links of our own.
    fn withdraw(&mut self, wiring: &Wiring) {
        let namespaces = std::iter::once(None).chain(wiring.namespace().map(Some));
        for namespace in namespaces {
            for link in self.observed.links_in(namespace) {
                let at = LinkRef { link: link.name.clone(), namespace: namespace.map(str::to_owned) };
                let meant =
                    |net: &IpNet| wiring.addresses().any(|(place, wanted)| place == at && wanted == *net);
                let rival = |net: &IpNet| {
                    let twin = |(place, wanted): (LinkRef, IpNet)| {
                        place.namespace == at.namespace && wanted.addr() == net.addr()
                    };
                    link.made && wiring.addresses().any(twin)
                };
                let stale = link.addresses.iter().filter(|net| !meant(net));
                let stale = stale.filter(|net| link.given.contains(net) || rival(net));
                self.steps.extend(stale.map(|net| Step::Withdraw { at: at.clone(), net: *net }));
            }
        }
    }

    fn carried(&mut self, name: &str, addresses: &[IpNet]) {
        let found = self.observed.link(name);
        let dummy = Step::Dummy { name: name.to_owned() };
        if found.is_none() && !self.steps.contains(&dummy) {
            self.steps.push(dummy);
        }
        let at = LinkRef::here(name);
        self.ipv6(&at, found, addresses);
        self.addresses(&at, found, addresses);
        self.up(at, found);
    }

    fn pair(&mut self, pair: &VethLink) {
        let (ours, theirs) = (pair.our_end(), pair.their_end());
        match &pair.domain {
            RoutingDomain::Vrf { name, table } => self.vrf(name, *table),
            RoutingDomain::Namespace { name } => self.namespace(name),
            RoutingDomain::Shared => {}
        }
        let waiting = self.observed.link(&pair.ours.0);
        let inside = self.observed.at(&ours);
        let speaker = self.observed.at(&theirs);
        let is_made = waiting.is_none() && inside.is_none();
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
                moved: self.master(&ours, inside, pair.vrf()),
                at: ours,
                net: pair.ours.1,
            },
            VethEnd {
                found: speaker,
                moved: self.master(&theirs, speaker, None),
                at: theirs,
                net: pair.theirs.1,
            },
        ];
        // One end after the other: in a namespace somebody has to go there, and goes once. The link works when both are up.
        for VethEnd { at, found, net, moved } in ends {
            if found.map_or(!is_made, |link| link.mtu != pair.mtu) {
                self.steps.push(Step::Mtu { at: at.clone(), mtu: pair.mtu });
            }
            self.ipv6(&at, found, &[net]);
            // The kernel drops IPv6 addresses of a link that moves.
            self.addresses(&at, found.filter(|_| !moved), &[net]);
            self.up(at, found);
        }
    }

    fn vrf(&mut self, name: &str, table: u32) {
        let found = self.observed.link(name);
        if found.is_none() {
            self.steps.push(Step::Vrf { name: name.to_owned(), table });
        }
        for family in Family::ALL {
            let is_there = |fence: &UnreachableDefault| fence.table == table && fence.family == family;
            if !self.observed.fences.iter().any(is_there) {
                self.steps.push(Step::Fence { table, family });
            }
        }
        self.up(LinkRef::here(name), found);
    }

    fn namespace(&mut self, name: &str) {
        match &self.observed.inside {
            NamespaceState::Missing | NamespaceState::Half => {
                self.steps.push(Step::Namespace { name: name.to_owned() })
            }
            NamespaceState::There { .. } => {
                let lo = LinkRef { link: "lo".to_owned(), namespace: Some(name.to_owned()) };
                let found = self.observed.at(&lo);
                self.up(lo, found);
            }
        }
    }

    /// Puts a link where it belongs; whether it had to be moved.
    fn master(&mut self, at: &LinkRef, found: Option<&Link>, vrf: Option<&str>) -> bool {
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

    /// IPv6 may be switched off for links that are made later.
    fn ipv6(&mut self, at: &LinkRef, found: Option<&Link>, addresses: &[IpNet]) {
        if at.namespace.is_some() || addresses.iter().all(|net| net.addr().is_ipv4()) {
            return;
        }
        let known = Sysctl::ipv6_of(if found.is_some() { &at.link } else { "default" });
        if self.observed.switches.get(&known.path).is_some_and(|value| value != known.value) {
            self.steps.push(Step::Switch(Sysctl::ipv6_of(&at.link)));
        }
    }

    fn addresses(&mut self, at: &LinkRef, found: Option<&Link>, addresses: &[IpNet]) {
        let missing = addresses.iter().filter(|net| found.is_none_or(|link| !link.addresses.contains(net)));
        self.steps.extend(missing.map(|net| Step::Address { at: at.clone(), net: *net }));
    }

    fn up(&mut self, at: LinkRef, found: Option<&Link>) {
        if found.is_none_or(|link| !link.up) {
            self.steps.push(Step::Up { at });
        }
    }
}

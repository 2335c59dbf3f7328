//! Toward the speaker of service addresses: the link, the session, and what is taken from it.

use std::net::IpAddr;

use super::filter::{Filter, Term};
use super::{Bfd, Family, ModelError, Protected};
use crate::cluster::section::{Isolation, MetallbMode, Routing, Speaker};
use crate::cluster::value::Asn;
use crate::plan::{NodePlan, WorkloadPlan};

/// The instance that a speaker peers with. What it is given crosses to the fabric; nothing crosses back, and nothing is
/// announced to the speaker. The speaker connects.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Who announces service addresses.
    pub speaker: Speaker,
    /// Where our end of the link is.
    pub domain: Domain,
    /// Our end of the link.
    pub ours: End,
    /// The speaker's.
    pub theirs: End,
    /// Prefix length of the link.
    pub prefix: u8,
    /// The families that are taken and cross.
    pub families: Vec<Family>,
    /// Fast detection of a dead path.
    pub bfd: Option<Bfd>,
    /// Keepalive and hold time in seconds.
    pub timers: (u16, u16),
    /// What is taken.
    pub filter: Filter,
}

/// One end of the link to the speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Name of the link.
    pub link: String,
    /// Address.
    pub address: IpAddr,
    /// AS number in this session.
    pub asn: Asn,
}

/// What keeps the speaker's routes apart from the node's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// A VRF.
    Vrf {
        /// Its name.
        name: String,
        /// Its table.
        table: u32,
    },
    /// A network namespace.
    Namespace {
        /// Its name.
        name: String,
    },
    /// Nothing: both ends are in the node's own table.
    Shared,
}

impl Domain {
    /// The name of the VRF or namespace.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Vrf { name, .. } | Self::Namespace { name } => Some(name),
            Self::Shared => None,
        }
    }
}

impl Workload {
    /// Whether IPv4 goes over an IPv6 session, which both ends must be told.
    pub fn extends_next_hops(&self) -> bool {
        self.theirs.address.is_ipv6() && self.families.contains(&Family::V4)
    }
}

/// The instance of a node.
pub(super) fn of(
    node: &NodePlan,
    plan: &WorkloadPlan,
    routing: &Routing,
    protected: &Protected,
) -> Result<Workload, ModelError> {
    let missing = |key| ModelError { node: node.name.to_string(), key };
    let (ours, theirs) = plan.link.as_ref().ok_or_else(|| missing("routing.workload.link"))?;
    let name = || plan.domain.as_ref().map(|domain| domain.value.clone());
    let domain = match plan.isolation.value {
        Isolation::None => Domain::Shared,
        Isolation::Vrf => Domain::Vrf {
            name: name().ok_or_else(|| missing("routing.workload.vrf.name"))?,
            table: plan.table.as_ref().ok_or_else(|| missing("routing.workload.vrf.table"))?.value,
        },
        Isolation::Netns => {
            Domain::Namespace { name: name().ok_or_else(|| missing("routing.workload.namespace"))? }
        }
    };
    let bfd = routing.workload.get().and_then(|workload| workload.bfd.get()?.on());
    Ok(Workload {
        speaker: plan.speaker,
        domain,
        ours: End { link: plan.names.0.clone(), address: ours.value, asn: plan.asn.0.value },
        theirs: End { link: plan.names.1.clone(), address: theirs.value, asn: plan.asn.1.value },
        prefix: plan.prefix,
        families: families(plan),
        bfd: bfd
            .map(|bfd| Bfd::from((bfd.interval.value().unwrap_or(300), bfd.multiplier.value().unwrap_or(3)))),
        timers: (3, 9),
        filter: protected.filter(&allowed(plan, routing)),
    })
}

/// MetalLB by itself knows IPv4 alone.
fn families(plan: &WorkloadPlan) -> Vec<Family> {
    match (plan.speaker, plan.mode) {
        (Speaker::Metallb, MetallbMode::Native) => vec![Family::V4],
        _ => Family::ALL.to_vec(),
    }
}

/// What is written and all within it; else single addresses for MetalLB, of its pools where the file has some, and
/// everything for Cilium.
fn allowed(plan: &WorkloadPlan, routing: &Routing) -> Vec<Term> {
    let written = routing.workload.get().is_some_and(|workload| workload.allow.values().next().is_some());
    let everything = Family::ALL.map(Family::everything);
    let nets = if plan.allow.is_empty() { &everything[..] } else { &plan.allow };
    let term = if written || plan.speaker == Speaker::Cilium { Term::within } else { Term::hosts };
    nets.iter().map(|net| term(true, net.trunc())).collect()
}

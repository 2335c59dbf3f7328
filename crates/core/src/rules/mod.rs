//! What is wise or not: findings about a file that is understood.
//!
//! A [`Rule`] has a stable id, a severity, a reason and a fix, and a function that looks at the [`Context`]. Rules that
//! belong together share a file. [`check`] applies all of them to one cluster.

mod aggregate;
mod allow;
mod asn;
pub mod attachment;
mod backend;
mod bfd;
mod boot;
pub mod clash;
mod cni;
mod compare;
mod control_plane;
mod daemon;
mod dhcp;
mod drain;
mod duplicate;
mod duplicate_asn;
mod endpoint;
mod gap;
mod holder;
mod image;
mod install;
mod link;
mod link_name;
mod listen;
mod listener;
mod mac;
mod mtu;
mod mtu_ipv6;
mod neighbor;
mod nexthop;
mod overlap;
mod overlay;
pub mod patch;
mod prefix;
mod roll;
mod rung;
mod schematic;
mod secret;
mod session;
mod silence;
mod speaker;
mod version;
mod vip;
mod vm_id;
mod vrf;

use std::fmt;

use crate::cluster::Place;
use crate::model::Cluster;
use crate::plan::Plan;
use attachment::Attachments;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Works, but will hurt.
    Warning,
    /// Will not work.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing that can be wrong.
pub struct Rule {
    /// Its id: stable, in lower case with dashes.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub summary: &'static str,
    /// What happens to whoever overlooks it.
    pub story: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// Looks for it.
    pub look: fn(&Context<'_>, &mut Found),
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// What rules look at.
#[derive(Debug)]
pub struct Context<'c> {
    /// The file, resolved.
    pub cluster: &'c Cluster,
    /// What was decided.
    pub plan: &'c Plan,
    /// The files it names.
    pub attachments: &'c Attachments,
}

/// Collects what one rule finds.
#[derive(Debug, Default)]
pub struct Found {
    found: Vec<(String, Place, String)>,
}

impl Found {
    /// Reports the rule at `path`, which stands at `place`, with what is wrong there.
    pub fn at(&mut self, path: impl Into<String>, place: Place, message: impl Into<String>) {
        self.found.push((path.into(), place, message.into()));
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Key path.
    pub path: String,
    /// The place to mark.
    pub place: Place,
    /// What is wrong here.
    pub message: String,
    /// Why it is accepted, when the file says so.
    pub silenced: Option<String>,
}

/// Every rule that looks at one cluster, in the order of the reference.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|(_, rules)| rules.iter())
}

/// The rules by subject.
pub const GROUPS: &[(&str, &[Rule])] = &[
    ("Identity", duplicate::RULES),
    ("AS numbers of the nodes", duplicate_asn::RULES),
    ("MAC addresses", mac::RULES),
    ("Numbers of virtual machines", vm_id::RULES),
    ("Derivation", gap::RULES),
    ("Prefixes", prefix::RULES),
    ("Control planes", control_plane::RULES),
    ("VIP", vip::RULES),
    ("Endpoints", endpoint::RULES),
    ("Releases", version::RULES),
    ("AS numbers", asn::RULES),
    ("Neighbours", neighbor::RULES),
    ("Listen ranges", listen::RULES),
    ("Next hops", nexthop::RULES),
    ("BFD", bfd::RULES),
    ("MTU for IPv6", mtu_ipv6::RULES),
    ("The speaker", speaker::RULES),
    ("Prefixes from the speaker", allow::RULES),
    ("Aggregates", aggregate::RULES),
    ("VRFs", vrf::RULES),
    ("Daemons", daemon::RULES),
    ("Listeners", listener::RULES),
    ("Backends", backend::RULES),
    ("Links", link::RULES),
    ("DHCP", dhcp::RULES),
    ("Installation", install::RULES),
    ("Boot", boot::RULES),
    ("Images", image::RULES),
    ("Schematics", schematic::RULES),
    ("Patches", patch::FORM),
    ("What patches bring", patch::CONTENT),
    ("Secrets", secret::RULES),
    ("Overlay", overlay::RULES),
    ("Pod network", cni::RULES),
    ("MTU", mtu::RULES),
    ("Draining", drain::RULES),
    ("Between clusters", clash::RULES),
    ("Silencing", silence::RULES),
];

/// The rule of this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

/// Applies every rule: the worst first, then in the order of the file.
pub fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in all() {
        let mut found = Found::default();
        (rule.look)(context, &mut found);
        findings.extend(found.found.into_iter().map(|(path, place, message)| Finding {
            rule,
            path,
            place,
            message,
            silenced: None,
        }));
    }
    silence::apply(context.cluster, &mut findings);
    findings.sort_by(|a, b| b.rule.severity.cmp(&a.rule.severity).then(a.place.cmp(&b.place)));
    findings
}

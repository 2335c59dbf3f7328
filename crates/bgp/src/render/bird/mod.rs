//! BIRD 2, from 2.0.12 on: `bird.conf`, and for ichor's extension `daemons`.
//!
//! `conf` puts the file together from its parts: `filter`, `fabric` and `speaker`, written through `text`.
//!
//! Not here: what BIRD cannot do at all (`ichor_core::plan::backend`).

mod conf;
mod daemons;
mod fabric;
mod filter;
mod speaker;
mod text;

use super::{ConfigFile, RenderRequest, Service};
use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{BgpModel, RoutingDomain};
use crate::setting::Carrier;
use ichor_values::{Issue, SoftwareVersion};

/// The release in ichor's extension.
const OURS: (u16, u16) = (2, 17);

/// The release in Talos' extension, from Talos 1.12 to 1.14.
const OFFICIAL: (u16, u16) = (2, 18);

/// The oldest patch of 2.0 that is known.
const OLDEST: u16 = 12;

/// The longest restart that fits into BGP's capability, in seconds (RFC 4724, section 3).
const LONGEST_RESTART: u16 = 4095;

/// The release that reads the file.
#[derive(Clone, Copy)]
struct BirdRelease(u16, u16);

impl BirdRelease {
    fn of(version: Option<&SoftwareVersion>, carrier: Carrier) -> Self {
        let known = match carrier {
            Carrier::Ichor => OURS,
            Carrier::Official => OFFICIAL,
        };
        let (major, minor) = version.map_or(known, SoftwareVersion::minor);
        Self(major, minor)
    }

    /// Whether it finds neighbours by their router advertisements and dials them itself.
    fn discovers(self) -> bool {
        (self.0, self.1) >= (2, 19)
    }

    /// Whether it wants to be told how a password is used.
    fn names_authentication(self) -> bool {
        (self.0, self.1) >= (2, 17)
    }
}

/// The service of a node; what is wrong is added to `issues`.
pub(crate) fn render(
    order: RenderRequest<'_>,
    passwords: &[Option<String>],
    issues: &mut Vec<Issue>,
) -> Service {
    let RenderRequest { model, version, options, carrier, routers, .. } = order;
    let release = BirdRelease::of(version, carrier);
    refuse_release(version, release, issues);
    refuse_words(model, passwords, issues);
    refuse_passwords(model, passwords, issues);
    let told =
        conf::BirdInputs { model, release, graceful_restart: restarts(model, carrier, issues), routers };
    let conf = conf::render(&told, passwords);
    let version = (release.0, release.1);
    match carrier {
        Carrier::Official => {
            Service { name: "bird2", version, folder: "/usr/local/etc", files: vec![file(conf)] }
        }
        Carrier::Ichor => service(version, conf, daemons::render(model, options, issues)),
    }
}

/// The service of files that somebody else wrote.
pub fn ready(configuration: &str, daemons: Option<&str>, version: Option<&SoftwareVersion>) -> Service {
    let version = version.map_or(OURS, SoftwareVersion::minor);
    let daemons = daemons.map_or_else(daemons::usual, str::to_owned);
    service(version, configuration.to_owned(), daemons)
}

fn service(version: (u16, u16), conf: String, daemons: String) -> Service {
    let daemons = ConfigFile { name: "daemons", text: daemons, private: false };
    Service { name: "bird", version, folder: "/usr/local/etc/bird", files: vec![file(conf), daemons] }
}

fn file(conf: String) -> ConfigFile {
    ConfigFile { name: "bird.conf", text: conf, private: true }
}

/// Seconds that neighbours keep routes through a restart. Without the agent BIRD is stopped as if for good: it says good-bye,
/// and nobody keeps anything.
fn restarts(model: &BgpModel, carrier: Carrier, issues: &mut Vec<Issue>) -> Option<u16> {
    let time = model.fabric.graceful_restart.filter(|_| carrier == Carrier::Ichor)?;
    if time > LONGEST_RESTART {
        let reason = format!("{time} seconds do not fit into BGP; take at most {LONGEST_RESTART}");
        issues.push(Issue::error("routing.graceful_restart", reason));
    }
    Some(time)
}

fn refuse_release(version: Option<&SoftwareVersion>, release: BirdRelease, issues: &mut Vec<Issue>) {
    let patch = version.and_then(SoftwareVersion::patch);
    let early = (release.0, release.1) == (2, 0) && patch.is_some_and(|patch| patch < OLDEST);
    if release.0 != 2 || early {
        let written = version.map(ToString::to_string).unwrap_or_default();
        let reason = format!("BIRD {written} is not known here; take one from 2.0.{OLDEST} on, but not 3");
        issues.push(Issue::error("routing.version", reason));
    }
}

/// Neighbours on ports all come from fe80::/10, and the kernel looks for the key of a connection by address alone.
fn refuse_passwords(model: &BgpModel, passwords: &[Option<String>], issues: &mut Vec<Issue>) {
    let sessions = || model.fabric.neighbors.iter().zip(passwords);
    // Else it was said already why one cannot be had.
    let complete = sessions().all(|(neighbor, password)| neighbor.password.is_some() == password.is_some());
    let on_port = |(neighbor, _): &(&Neighbor, _)| matches!(neighbor.found, PeerAddress::Port { .. });
    let mut on_ports = sessions().filter(on_port).map(|(_, password)| password);
    let first = on_ports.next();
    if complete && on_ports.any(|password| Some(password) != first) {
        let reason =
            "BIRD listens on all ports with one password; give all neighbours on ports the same, or none";
        issues.push(Issue::error("routing.neighbors", reason));
    }
}

/// BIRD has no way to write a quotation mark in a text, and takes `*` and `?` in the name of a link for a pattern.
fn refuse_words(model: &BgpModel, passwords: &[Option<String>], issues: &mut Vec<Issue>) {
    if passwords.iter().flatten().any(|password| password.contains('"')) {
        let reason = "BIRD reads no password with a quotation mark in it; take another, on both ends";
        issues.push(Issue::error("routing.neighbors", reason));
    }
    let ports = model.fabric.neighbors.iter().filter_map(|neighbor| match &neighbor.found {
        PeerAddress::Port { name, .. } => Some(("routing.neighbors", name.as_str())),
        PeerAddress::Address { .. } => None,
    });
    let announced = model.fabric.announced.iter().map(|it| ("network.dummy", it.link.as_str()));
    let vrf = model.workload.as_ref().and_then(|workload| match &workload.domain {
        RoutingDomain::Vrf { name, .. } => Some(("routing.workload.vrf.name", name.as_str())),
        _ => None,
    });
    let mut bad: Vec<_> = ports.chain(announced).chain(vrf).filter(|(_, name)| !text::fits(name)).collect();
    bad.sort_unstable();
    bad.dedup();
    for (key, name) in bad {
        let reason =
            format!("BIRD cannot be told of a link named `{name}`; take letters, digits, `-`, `_` and `.`");
        issues.push(Issue::error(key, reason));
    }
}

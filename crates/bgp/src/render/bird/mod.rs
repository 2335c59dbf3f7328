//! BIRD 2, from 2.0.12 on: `bird.conf`, and for ichor's extension `daemons`.
//!
//! `conf` assembles the file from its parts: `filter`, `fabric` and `speaker`, written with `writer`.
//!
//! Not here: features that BIRD lacks (`ichor_core::plan::backend`).

mod conf;
mod daemons;
mod fabric;
mod filter;
mod speaker;
mod writer;

use super::{ConfigFile, RenderRequest, Service};
use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{BgpModel, RoutingDomain};
use crate::setting::Carrier;
use ichor_values::{Issue, SoftwareVersion};

/// The release in ichor's extension.
const OURS: (u16, u16) = (2, 17);

/// The release in Talos' extension, from Talos 1.12 to 1.14.
const OFFICIAL: (u16, u16) = (2, 18);

/// The oldest supported patch release of 2.0.
const OLDEST: u16 = 12;

/// The longest restart that fits into BGP's capability, in seconds (RFC 4724, section 3).
const LONGEST_RESTART: u16 = 4095;

/// The release that reads the file.
#[derive(Clone, Copy)]
struct BirdRelease(u16, u16);

impl BirdRelease {
    fn new(version: Option<&SoftwareVersion>, carrier: Carrier) -> Self {
        let known = match carrier {
            Carrier::Ichor => OURS,
            Carrier::Official => OFFICIAL,
        };
        let (major, minor) = version.map_or(known, SoftwareVersion::minor);
        Self(major, minor)
    }

    /// Whether it discovers neighbours by their router advertisements and connects to them.
    fn discovers(self) -> bool {
        (self.0, self.1) >= (2, 19)
    }

    /// Whether it requires the authentication method of a password.
    fn requires_authentication_method(self) -> bool {
        (self.0, self.1) >= (2, 17)
    }
}

/// Renders the service of a node; problems are added to `issues`.
pub(crate) fn render(
    request: RenderRequest<'_>,
    passwords: &[Option<String>],
    issues: &mut Vec<Issue>,
) -> Service {
    let RenderRequest { model, version, options, carrier, routers, .. } = request;
    let release = BirdRelease::new(version, carrier);
    check_release(version, release, issues);
    check_names(model, passwords, issues);
    check_passwords(model, passwords, issues);
    let inputs =
        conf::BirdInputs { model, release, graceful_restart: restart_time(model, carrier, issues), routers };
    let conf = conf::render(&inputs, passwords);
    let version = (release.0, release.1);
    match carrier {
        Carrier::Official => {
            Service { name: "bird2", version, folder: "/usr/local/etc", files: vec![file(conf)] }
        }
        Carrier::Ichor => service(version, conf, daemons::render(model, options, issues)),
    }
}

/// The service of ready-made files.
pub fn ready_made_service(
    configuration: &str,
    daemons: Option<&str>,
    version: Option<&SoftwareVersion>,
) -> Service {
    let version = version.map_or(OURS, SoftwareVersion::minor);
    let daemons = daemons.map_or_else(daemons::default_daemons, str::to_owned);
    service(version, configuration.to_owned(), daemons)
}

fn service(version: (u16, u16), conf: String, daemons: String) -> Service {
    let daemons = ConfigFile { name: "daemons", text: daemons, private: false };
    Service { name: "bird", version, folder: "/usr/local/etc/bird", files: vec![file(conf), daemons] }
}

fn file(conf: String) -> ConfigFile {
    ConfigFile { name: "bird.conf", text: conf, private: true }
}

/// Seconds that neighbours keep routes through a restart. Without the agent, BIRD always stops for good: it closes its
/// sessions, and neighbours drop its routes.
fn restart_time(model: &BgpModel, carrier: Carrier, issues: &mut Vec<Issue>) -> Option<u16> {
    let time = model.fabric.graceful_restart.filter(|_| carrier == Carrier::Ichor)?;
    if time > LONGEST_RESTART {
        let reason = format!("{time} seconds do not fit into BGP; take at most {LONGEST_RESTART}");
        issues.push(Issue::error("routing.graceful_restart", reason));
    }
    Some(time)
}

fn check_release(version: Option<&SoftwareVersion>, release: BirdRelease, issues: &mut Vec<Issue>) {
    let patch = version.and_then(SoftwareVersion::patch);
    let early = (release.0, release.1) == (2, 0) && patch.is_some_and(|patch| patch < OLDEST);
    if release.0 != 2 || early {
        let written = version.map(ToString::to_string).unwrap_or_default();
        let reason = format!("BIRD {written} is not known here; take one from 2.0.{OLDEST} on, but not 3");
        issues.push(Issue::error("routing.version", reason));
    }
}

/// Neighbours on ports all come from fe80::/10, and the kernel looks up the key of a connection by address only.
fn check_passwords(model: &BgpModel, passwords: &[Option<String>], issues: &mut Vec<Issue>) {
    let sessions = || model.fabric.neighbors.iter().zip(passwords);
    // Otherwise the missing password has been reported already.
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

/// BIRD has no escape for a quotation mark in a string, and treats `*` and `?` in the name of a link as a pattern.
fn check_names(model: &BgpModel, passwords: &[Option<String>], issues: &mut Vec<Issue>) {
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
    let mut bad: Vec<_> =
        ports.chain(announced).chain(vrf).filter(|(_, name)| !writer::is_plain_name(name)).collect();
    bad.sort_unstable();
    bad.dedup();
    for (key, name) in bad {
        let reason =
            format!("BIRD does not accept the link name `{name}`; use letters, digits, `-`, `_` and `.`");
        issues.push(Issue::error(key, reason));
    }
}

//! FRR's own words: which of its daemons run, and what they tell of sessions and routes.

use std::fmt;

use ipnet::IpNet;
use serde_json::{Map, Value};

use super::Session;
use super::session::State;
use crate::reload::Daemon;

/// A daemon that shall run, and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which.
    pub daemon: Daemon,
    /// Its options, word by word.
    pub options: Vec<String>,
}

/// What is wrong with a file `daemons`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`daemons`: {}", .0.join("; "))]
pub struct Unrunnable(pub Vec<String>);

/// Programs of FRR that a node has no use for, as a file `daemons` names them.
const OTHERS: [&str; 17] = [
    "babeld", "eigrpd", "fabricd", "isisd", "ldpd", "nhrpd", "ospf6d", "ospfd", "pathd", "pbrd", "pim6d",
    "pimd", "ripd", "ripngd", "sharpd", "snmpd", "vrrpd",
];

/// Which daemons a file `daemons` wants of a release, in the order in which they start. Those that FRR cannot be without, it
/// need not name.
pub fn daemons(text: &str, version: (u16, u16)) -> Result<Vec<Run>, Unrunnable> {
    let settings: Vec<(&str, &str)> = text.lines().filter_map(setting).collect();
    let of = |name: &str| settings.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let yes = |name: &str| of(name).map(|value| value.eq_ignore_ascii_case("yes"));
    let mut wrong = Vec::new();
    for other in OTHERS.into_iter().filter(|other| yes(other) == Some(true)) {
        wrong.push(format!("{other} does not run on a node; say `{other}=no`"));
    }
    let mut run = Vec::new();
    for &daemon in Daemon::of(version) {
        let needed = matches!(daemon, Daemon::Mgmtd | Daemon::Zebra);
        let usual = needed || daemon == Daemon::Staticd;
        if !yes(daemon.name()).unwrap_or(usual) {
            if needed {
                wrong.push(format!("nothing works without {daemon}; say `{daemon}=yes`"));
            }
            continue;
        }
        let written = of(&format!("{daemon}_options")).unwrap_or_default();
        let profile = of("frr_profile").filter(|profile| !profile.is_empty());
        run.push(Run { daemon, options: options(written, profile) });
    }
    if wrong.is_empty() { Ok(run) } else { Err(Unrunnable(wrong)) }
}

fn setting(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (key, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    Some((key.trim(), quoted.unwrap_or(value).trim()))
}

/// The words of a line of options, for a daemon in the foreground whose shell listens on no TCP port unless it is told to.
fn options(written: &str, profile: Option<&str>) -> Vec<String> {
    let words = written.split_whitespace().filter(|word| !matches!(*word, "-d" | "--daemon"));
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    if !words.iter().any(|word| word.starts_with("-P") || word.starts_with("--vty_port")) {
        words.extend(["-P", "0"].map(str::to_owned));
    }
    words.extend(profile.into_iter().flat_map(|profile| ["-F".to_owned(), profile.to_owned()]));
    words
}

/// The release that one of FRR's programs says it is of, when asked for its version.
pub fn version(said: &str) -> Option<(u16, u16)> {
    let number = said.split_whitespace().skip_while(|word| *word != "version").nth(1)?;
    let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// An answer is not of the form that FRR 8.4 to 10 give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("FRR's answer to `{question}` is not understood: {reason}")]
pub struct Strange {
    question: &'static str,
    reason: String,
}

/// What is asked for sessions.
pub const NEIGHBORS: &str = "show bgp vrf all neighbors json";
/// What is asked for BFD.
pub const PEERS: &str = "show bfd peers json";
/// What is asked for the routes that BGP gave the kernel.
pub const ROUTES: [&str; 2] = ["show ip route vrf all bgp json", "show ipv6 route vrf all bgp json"];

/// The sessions, from the answers to [`NEIGHBORS`] and, where BFD runs, [`PEERS`].
pub fn sessions(neighbors: &str, peers: Option<&str>) -> Result<Vec<Session>, Strange> {
    let neighbors = object(NEIGHBORS, neighbors)?;
    let peers = peers.map(|peers| bfd_peers(peers)).transpose()?.unwrap_or_default();
    let mut found = Vec::new();
    for (vrf, of_vrf) in &neighbors {
        // Beside the neighbours, an instance tells its own name and number.
        for (name, told) in of_vrf.as_object().into_iter().flatten().filter(|(_, told)| told.is_object()) {
            found.push(session(vrf, name, told, &peers));
        }
    }
    Ok(found)
}

fn object(question: &'static str, text: &str) -> Result<Map<String, Value>, Strange> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Strange { question, reason: "it is no object".to_owned() }),
        Err(error) => Err(Strange { question, reason: error.to_string() }),
    }
}

/// One end of a BFD session, and whether it is up.
struct BfdPeer {
    vrf: String,
    peer: String,
    port: Option<String>,
    up: bool,
}

fn bfd_peers(text: &str) -> Result<Vec<BfdPeer>, Strange> {
    let strange = |reason: String| Strange { question: PEERS, reason };
    let all: Vec<Value> = serde_json::from_str(text).map_err(|error| strange(error.to_string()))?;
    let word = |told: &Value, key: &str| told[key].as_str().map(str::to_owned);
    let peer = |told: &Value| {
        let vrf = word(told, "vrf").unwrap_or_else(|| "default".to_owned());
        let peer = word(told, "peer")?;
        Some(BfdPeer { vrf, peer, port: word(told, "interface"), up: told["status"] == "up" })
    };
    Ok(all.iter().filter_map(peer).collect())
}

fn session(vrf: &str, name: &str, told: &Value, peers: &[BfdPeer]) -> Session {
    let state = told["bgpState"].as_str().and_then(State::parse).unwrap_or(State::Idle);
    let address = told["bgpNeighborAddr"].as_str().filter(|address| *address != "none" && *address != name);
    let number = |key: &str| told[key].as_u64().and_then(|number| u32::try_from(number).ok());
    let families = told["addressFamilyInfo"].as_object();
    let sum = |key: &str| {
        let of = |family: &Value| family[key].as_u64().and_then(|count| u32::try_from(count).ok());
        families.into_iter().flat_map(Map::values).filter_map(of).sum()
    };
    let established = state == State::Established;
    let uptime =
        told["bgpTimerUpMsec"].as_u64().filter(|_| established).map(|milliseconds| milliseconds / 1000);
    let asked = told["peerBfdInfo"].is_object();
    Session {
        peer: name.to_owned(),
        domain: Some(vrf.to_owned()).filter(|vrf| vrf != "default"),
        address: address.map(str::to_owned),
        asn: number("remoteAs").filter(|asn| *asn != 0),
        state,
        uptime,
        established: number("connectionsEstablished").unwrap_or(0),
        received: if established { sum("acceptedPrefixCounter") } else { 0 },
        sent: if established { sum("sentPrefixCounter") } else { 0 },
        bfd: asked.then(|| bfd_up(vrf, name, address, peers)),
        said: said(told),
    }
}

/// Whether the path of a session works: a port's session is with the address that was found there.
fn bfd_up(vrf: &str, name: &str, address: Option<&str>, peers: &[BfdPeer]) -> bool {
    let peer = address.unwrap_or(name);
    let fits = |it: &&BfdPeer| {
        it.vrf == vrf
            && it.peer == peer
            && it.port.as_deref().is_none_or(|port| address.is_none() || port == name)
    };
    peers.iter().find(fits).is_some_and(|peer| peer.up)
}

/// What the daemon last said was wrong, in its own words.
fn said(told: &Value) -> Option<String> {
    let word = |key: &str| told[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let reset = word("lastResetDueTo").filter(|text| !text.eq_ignore_ascii_case("never"))?;
    let notified = word("lastNotificationReason").filter(|notified| !reset.contains(notified));
    Some(notified.map_or_else(|| reset.to_owned(), |notified| format!("{reset}: {notified}")))
}

/// A route that BGP gave the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The VRF or namespace; none for the node's own.
    pub domain: Option<String>,
    /// Where to.
    pub prefix: IpNet,
    /// How many next hops it has in the kernel.
    pub next_hops: usize,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.prefix)?;
        self.domain.iter().try_for_each(|domain| write!(f, " in {domain}"))
    }
}

/// The routes that zebra says are in the kernel, from the answers to [`ROUTES`].
pub fn routes(answers: [&str; 2]) -> Result<Vec<Route>, Strange> {
    let mut found = Vec::new();
    for (question, answer) in ROUTES.into_iter().zip(answers) {
        for (key, told) in object(question, answer)? {
            // With several VRFs there is one more level, of their names.
            match told {
                Value::Object(of_vrf) => {
                    of_vrf.iter().for_each(|(prefix, told)| installed(prefix, told, &mut found))
                }
                told => installed(&key, &told, &mut found),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn installed(prefix: &str, told: &Value, found: &mut Vec<Route>) {
    let Ok(prefix) = prefix.parse() else { return };
    for route in told.as_array().into_iter().flatten() {
        let here = route["installed"] == true && route["selected"] == true;
        let next_hops =
            route["nexthops"].as_array().into_iter().flatten().filter(|hop| hop["fib"] == true).count();
        let domain = route["vrfName"].as_str().filter(|vrf| *vrf != "default").map(str::to_owned);
        if here {
            found.push(Route { domain, prefix, next_hops });
        }
    }
}

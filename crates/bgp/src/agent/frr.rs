//! FRR's own words: which of its daemons run, and what they tell of sessions and routes.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value};

use super::Session;
use super::route::{self, Hop};
use super::session::{Extended, Notification, State};
use crate::model::Family;
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
    let neighbors = objects(NEIGHBORS, neighbors)?;
    let peers = peers.map(bfd_peers).transpose()?.unwrap_or_default();
    let mut found = Vec::new();
    for (vrf, of_vrf) in neighbors.iter().flatten() {
        // Beside the neighbours, an instance tells its own name and number.
        for (name, told) in of_vrf.as_object().into_iter().flatten().filter(|(_, told)| told.is_object()) {
            found.push(session(vrf, name, told, &peers));
        }
    }
    Ok(found)
}

/// FRR 8 answers with one object after the other, one for each VRF.
fn objects(question: &'static str, text: &str) -> Result<Vec<Map<String, Value>>, Strange> {
    let all = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    all.collect::<Result<_, _>>().map_err(|error| Strange { question, reason: error.to_string() })
}

/// One end of a BFD session, and whether it is up.
struct BfdPeer {
    vrf: String,
    peer: String,
    port: Option<String>,
    up: bool,
}

impl BfdPeer {
    /// Whether it watches the neighbour of a session: that of a port may have had another address than it has now.
    fn is_of(&self, name: &str, address: Option<&str>) -> bool {
        self.port.as_deref() == Some(name) || (address.is_none() && self.peer == name)
    }
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
    let current = address.unwrap_or(name);
    let of_it = peers.iter().filter(|it| asked && it.vrf == vrf && it.is_of(name, address));
    let watching = of_it.max_by_key(|it| it.peer == current);
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
        bfd: asked.then(|| watching.is_some_and(|it| it.up && it.peer == current)),
        watched: watching.map(|it| it.peer.clone()),
        families: agreed(told),
        extended: extended(told),
        notification: notification(told),
        said: said(told),
    }
}

/// Who offers to take IPv4 over IPv6; what the neighbour offers is known only while the session stands.
fn extended(told: &Value) -> Option<Extended> {
    let offers = told["neighborCapabilities"]["extendedNexthop"].as_str()?;
    let [ours, theirs] = ["dvertised", "eceived"].map(|word| offers.contains(word));
    Some(Extended { ours, theirs })
}

/// The families that both ends have; known only while the session stands.
fn agreed(told: &Value) -> Option<Vec<Family>> {
    let told = told["neighborCapabilities"]["multiprotocolExtensions"].as_object()?;
    let has = |name: &str| told.get(name).is_some_and(|who| who["advertisedAndReceived"] == true);
    let both = [(Family::V4, "ipv4Unicast"), (Family::V6, "ipv6Unicast")];
    Some(both.into_iter().filter(|(_, name)| has(name)).map(|(family, _)| family).collect())
}

/// The message that last closed the session.
fn notification(told: &Value) -> Option<Notification> {
    let sent = told["lastResetDueTo"].as_str().is_some_and(|why| why.contains("send"));
    Notification::parse(told["lastErrorCodeSubcode"].as_str()?, sent)
}

/// What the daemon last said was wrong, in its own words.
fn said(told: &Value) -> Option<String> {
    let word = |key: &str| told[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let reset = word("lastResetDueTo").filter(|text| !text.eq_ignore_ascii_case("never"))?;
    let notified = word("lastNotificationReason").filter(|notified| !reset.contains(notified));
    Some(notified.map_or_else(|| reset.to_owned(), |notified| format!("{reset}: {notified}")))
}

/// The metric of every route that zebra installs.
const KERNEL_METRIC: u32 = 20;

/// A route that BGP gave the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The VRF or namespace; none for the node's own.
    pub domain: Option<String>,
    /// Where to.
    pub prefix: IpNet,
    /// The ways of it that are in the kernel.
    pub hops: BTreeSet<Hop>,
    /// The address the node itself sends from.
    pub source: Option<IpAddr>,
}

impl Route {
    /// The route as zebra installs it; none for one whose table is not here: only that of `vrf` is, beside the node's own.
    pub fn in_kernel(self, vrf: Option<&(String, u32)>) -> Option<route::Route> {
        let table = match &self.domain {
            None => route::MAIN,
            Some(domain) => vrf.filter(|(name, _)| name == domain)?.1,
        };
        let Self { prefix, source, hops, .. } = self;
        let protocol = route::Protocol::Bgp;
        Some(route::Route { prefix, table, protocol, metric: KERNEL_METRIC, source, hops })
    }
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
        for (key, told) in objects(question, answer)?.into_iter().flatten() {
            // With several VRFs there is one more level, of their names.
            match told {
                Value::Object(of_vrf) => {
                    of_vrf.iter().for_each(|(prefix, told)| installed(prefix, told, &mut found));
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
        let ways = route["nexthops"].as_array().into_iter().flatten().filter(|hop| hop["fib"] == true);
        let source = ways.clone().find_map(|hop| hop["rmapSource"].as_str()?.parse().ok());
        let hops = ways.filter_map(|hop| {
            let link = u32::try_from(hop["interfaceIndex"].as_u64()?).ok()?;
            Some(Hop { via: hop["ip"].as_str().and_then(|via| via.parse().ok()), link })
        });
        let hops = hops.collect();
        let domain = route["vrfName"].as_str().filter(|vrf| *vrf != "default").map(str::to_owned);
        if here {
            found.push(Route { domain, prefix, hops, source });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! told {
        ($release:literal, $file:literal) => {
            include_str!(concat!("../../tests/data/frr/", $release, "/", $file))
        };
    }

    /// What FRR 8.4 and 10.3 said of a session with a leaf: while it was up, and after the leaf shut it down.
    const TOLD: [[&str; 5]; 2] = [
        [
            told!("8.4", "up/neighbors.json"),
            told!("8.4", "up/peers.json"),
            told!("8.4", "down/neighbors.json"),
            told!("8.4", "down/peers.json"),
            told!("8.4", "up/routes.json"),
        ],
        [
            told!("10.3", "up/neighbors.json"),
            told!("10.3", "up/peers.json"),
            told!("10.3", "down/neighbors.json"),
            told!("10.3", "down/peers.json"),
            told!("10.3", "up/routes.json"),
        ],
    ];

    fn one(neighbors: &str, peers: &str) -> Session {
        let [session] = sessions(neighbors, Some(peers)).unwrap().try_into().unwrap();
        session
    }

    #[test]
    fn a_session_that_is_up_has_an_uptime_and_prefixes() {
        for [neighbors, peers, ..] in TOLD {
            let session = one(neighbors, peers);

            assert_eq!((session.peer.as_str(), session.domain.as_deref()), ("eth0", None));
            assert_eq!(session.watched, session.address);
            assert!(session.address.unwrap().starts_with("fe80::"));
            assert_eq!(
                (session.state, session.bfd, session.asn),
                (State::Established, Some(true), Some(65100))
            );
            assert_eq!((session.received, session.sent, session.established), (1, 1, 1));
            assert_eq!(session.families, Some(vec![Family::V4]));
            assert!(session.uptime.is_some());
        }
    }

    #[test]
    fn a_session_that_is_down_says_why() {
        for [_, _, neighbors, peers, _] in TOLD {
            let session = one(neighbors, peers);

            assert_eq!((session.state, session.uptime, session.received), (State::Idle, None, 0));
            assert_eq!(
                session.said.as_deref(),
                Some("BGP Notification received: Cease/Administrative Shutdown")
            );
        }
    }

    #[test]
    fn bfd_is_that_of_the_address_a_port_was_found_at() {
        for [neighbors, peers, ..] in TOLD {
            let moved = one(neighbors, &peers.replace("\"peer\":\"fe80::", "\"peer\":\"fe80::bad:"));

            assert_eq!(moved.bfd, Some(false));
            assert!(moved.watched.unwrap().starts_with("fe80::bad:"));
            assert_eq!(one(neighbors, &peers.replace("\"up\"", "\"down\"")).bfd, Some(false));
        }
    }

    #[test]
    fn a_family_is_agreed_on_where_both_ends_have_it() {
        for [neighbors, peers, ..] in TOLD {
            let offered = neighbors.replace(
                "\"multiprotocolExtensions\":{",
                "\"multiprotocolExtensions\":{\"ipv6Unicast\":{\"advertised\":true},",
            );

            assert_ne!(offered, neighbors);
            assert_eq!(one(&offered, peers).families, Some(vec![Family::V4]));
        }
    }

    #[test]
    fn sessions_of_other_vrfs_have_their_name() {
        let neighbors = TOLD[0][0].replace("\"default\":{", "\"metallb\":{");

        let [session] = sessions(&neighbors, None).unwrap().try_into().unwrap();

        assert_eq!(session.domain.as_deref(), Some("metallb"));
    }

    #[test]
    fn routes_are_those_that_are_in_the_kernel() {
        for [.., told] in TOLD {
            let here = routes([told, "{}"]).unwrap();
            let twice = routes([&format!("{told}{}", told.replace("default", "red")), "{}"]).unwrap();
            let gone = routes([&told.replace("\"installed\":true,", ""), "{}"]).unwrap();

            let shown = |routes: Vec<Route>| routes.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(here[0].hops.len(), 1);
            assert_eq!(shown(here), ["198.51.100.0/24"]);
            assert_eq!(shown(twice), ["198.51.100.0/24", "198.51.100.0/24 in red"]);
            assert_eq!(gone, []);
        }
    }

    #[test]
    fn an_answer_that_is_no_answer_is_an_error() {
        let error = sessions("% no such thing", None).unwrap_err().to_string();

        assert!(
            error.starts_with("FRR's answer to `show bgp vrf all neighbors json` is not understood"),
            "{error}"
        );
        assert_eq!(sessions("{}", Some("[]")), Ok(Vec::new()));
    }

    #[test]
    fn daemons_run_in_their_order_with_the_options_of_the_file() {
        let text = "# ours\nbgpd=yes\nbgpd_options=\"  -P 0 -d -M rpki\"\nbfdd=no\nzebra_options='-s 9'\nfrr_profile=\"datacenter\"\n";
        let shown = |version| {
            let runs = daemons(text, version).unwrap();
            runs.iter().map(|run| format!("{} {}", run.daemon, run.options.join(" "))).collect::<Vec<_>>()
        };

        let eight = [
            "zebra -s 9 -P 0 -F datacenter",
            "staticd -P 0 -F datacenter",
            "bgpd -P 0 -M rpki -F datacenter",
        ];

        assert_eq!(shown((8, 4)), eight);
        assert_eq!(shown((10, 3))[0], "mgmtd -P 0 -F datacenter");
        assert_eq!(shown((10, 3))[1..], eight);
    }

    #[test]
    fn what_a_node_cannot_run_is_all_named() {
        let error = daemons("ospfd=yes\nripd=yes\nzebra=no\n", (8, 4)).unwrap_err();

        assert_eq!(error.0.len(), 3);
        assert!(error.to_string().contains("nothing works without zebra"), "{error}");
    }

    #[test]
    fn a_release_is_the_first_two_numbers_of_a_version() {
        assert_eq!(version("zebra version 8.4.4\nCopyright 1996-2005 Kunihiro Ishiguro\n"), Some((8, 4)));
        assert_eq!(version("zebra version 10.3\n"), Some((10, 3)));
        assert_eq!(version("zebra version 10.5.1_git\n"), Some((10, 5)));
        assert_eq!(version("zebra\n"), None);
    }
}

//! FRR's formats: its `daemons` file, and the JSON of its `show` commands for sessions and routes.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value};

use super::Session;
use super::route::{self, NextHop};
use super::session::{ExtendedNextHop, Notification, SessionState};
use crate::model::Family;
use crate::reload::FrrDaemon;

/// A daemon to run, and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonRun {
    /// The daemon.
    pub daemon: FrrDaemon,
    /// Its options, word by word.
    pub options: Vec<String>,
}

/// The problems of a `daemons` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid `daemons` file: {}", .0.join("; "))]
pub struct DaemonsFileError(pub Vec<String>);

/// FRR daemons that the agent does not run, by their names in a `daemons` file.
const OTHERS: [&str; 17] = [
    "babeld", "eigrpd", "fabricd", "isisd", "ldpd", "nhrpd", "ospf6d", "ospfd", "pathd", "pbrd", "pim6d",
    "pimd", "ripd", "ripngd", "sharpd", "snmpd", "vrrpd",
];

/// The daemons of a release that a `daemons` file enables, in the order of their start. Daemons that FRR needs are enabled by
/// default.
pub fn daemons(text: &str, version: (u16, u16)) -> Result<Vec<DaemonRun>, DaemonsFileError> {
    let settings: Vec<(&str, &str)> = text.lines().filter_map(parse_setting).collect();
    let value_of = |name: &str| settings.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let is_enabled = |name: &str| value_of(name).map(|value| value.eq_ignore_ascii_case("yes"));
    let mut problems = Vec::new();
    for other in OTHERS.into_iter().filter(|other| is_enabled(other) == Some(true)) {
        problems.push(format!("the agent does not support {other}; set `{other}=no`"));
    }
    let mut run = Vec::new();
    for &daemon in FrrDaemon::in_release(version) {
        let needed = matches!(daemon, FrrDaemon::Mgmtd | FrrDaemon::Zebra);
        let enabled_by_default = needed || daemon == FrrDaemon::Staticd;
        if !is_enabled(daemon.name()).unwrap_or(enabled_by_default) {
            if needed {
                problems.push(format!("FRR needs {daemon}; set `{daemon}=yes`"));
            }
            continue;
        }
        let written = value_of(&format!("{daemon}_options")).unwrap_or_default();
        let profile = value_of("frr_profile").filter(|profile| !profile.is_empty());
        run.push(DaemonRun { daemon, options: daemon_options(written, profile) });
    }
    if problems.is_empty() { Ok(run) } else { Err(DaemonsFileError(problems)) }
}

fn parse_setting(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (key, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    Some((key.trim(), quoted.unwrap_or(value).trim()))
}

/// The options of a daemon in the foreground. Its VTY listens on a TCP port only if the options name one.
fn daemon_options(written: &str, profile: Option<&str>) -> Vec<String> {
    let words = written.split_whitespace().filter(|word| !matches!(*word, "-d" | "--daemon"));
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    if !words.iter().any(|word| word.starts_with("-P") || word.starts_with("--vty_port")) {
        words.extend(["-P", "0"].map(str::to_owned));
    }
    words.extend(profile.into_iter().flat_map(|profile| ["-F".to_owned(), profile.to_owned()]));
    words
}

/// The release in the version output of an FRR program.
pub fn parse_version(output: &str) -> Option<(u16, u16)> {
    let number = output.split_whitespace().skip_while(|word| *word != "version").nth(1)?;
    let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// A reply has another format than that of FRR 8.4 to 10.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot parse FRR's reply to `{command}`: {reason}")]
pub struct ReplyError {
    command: &'static str,
    reason: String,
}

/// The command that shows sessions.
pub const NEIGHBORS: &str = "show bgp vrf all neighbors json";
/// The command that shows BFD peers.
pub const PEERS: &str = "show bfd peers json";
/// The commands that show BGP routes in the kernel, by address family.
pub const ROUTES: [&str; 2] = ["show ip route vrf all bgp json", "show ipv6 route vrf all bgp json"];

/// The sessions in the replies to [`NEIGHBORS`] and, where BFD runs, [`PEERS`].
pub fn sessions(neighbors: &str, peers: Option<&str>) -> Result<Vec<Session>, ReplyError> {
    let neighbors = parse_objects(NEIGHBORS, neighbors)?;
    let peers = peers.map(bfd_peers).transpose()?.unwrap_or_default();
    let mut found = Vec::new();
    for (vrf, of_vrf) in neighbors.iter().flatten() {
        // The object of an instance also contains its own name and number.
        for (name, json) in of_vrf.as_object().into_iter().flatten().filter(|(_, json)| json.is_object()) {
            found.push(session(vrf, name, json, &peers));
        }
    }
    Ok(found)
}

/// FRR 8 replies with a sequence of objects, one for each VRF.
fn parse_objects(command: &'static str, text: &str) -> Result<Vec<Map<String, Value>>, ReplyError> {
    let all = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    all.collect::<Result<_, _>>().map_err(|error| ReplyError { command, reason: error.to_string() })
}

/// One end of a BFD session, and whether it is up.
struct BfdPeer {
    vrf: String,
    peer: String,
    port: Option<String>,
    up: bool,
}

impl BfdPeer {
    /// Whether it monitors the neighbour of a session. The neighbour of a port may have had another address before.
    fn monitors(&self, name: &str, address: Option<&str>) -> bool {
        self.port.as_deref() == Some(name) || (address.is_none() && self.peer == name)
    }
}

fn bfd_peers(text: &str) -> Result<Vec<BfdPeer>, ReplyError> {
    let reply_error = |reason: String| ReplyError { command: PEERS, reason };
    let all: Vec<Value> = serde_json::from_str(text).map_err(|error| reply_error(error.to_string()))?;
    let word = |json: &Value, key: &str| json[key].as_str().map(str::to_owned);
    let peer = |json: &Value| {
        let vrf = word(json, "vrf").unwrap_or_else(|| "default".to_owned());
        let peer = word(json, "peer")?;
        Some(BfdPeer { vrf, peer, port: word(json, "interface"), up: json["status"] == "up" })
    };
    Ok(all.iter().filter_map(peer).collect())
}

fn session(vrf: &str, name: &str, json: &Value, peers: &[BfdPeer]) -> Session {
    let state = json["bgpState"].as_str().and_then(SessionState::parse).unwrap_or(SessionState::Idle);
    let address = json["bgpNeighborAddr"].as_str().filter(|address| *address != "none" && *address != name);
    let number = |key: &str| json[key].as_u64().and_then(|number| u32::try_from(number).ok());
    let families = json["addressFamilyInfo"].as_object();
    let sum = |key: &str| {
        let count_of = |family: &Value| family[key].as_u64().and_then(|count| u32::try_from(count).ok());
        families.into_iter().flat_map(Map::values).filter_map(count_of).sum()
    };
    let established = state == SessionState::Established;
    let uptime =
        json["bgpTimerUpMsec"].as_u64().filter(|_| established).map(|milliseconds| milliseconds / 1000);
    let has_bfd = json["peerBfdInfo"].is_object();
    let current = address.unwrap_or(name);
    let candidates = peers.iter().filter(|it| has_bfd && it.vrf == vrf && it.monitors(name, address));
    let monitor = candidates.max_by_key(|it| it.peer == current);
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
        bfd: has_bfd.then(|| monitor.is_some_and(|it| it.up && it.peer == current)),
        watched: monitor.map(|it| it.peer.clone()),
        families: negotiated_families(json),
        extended: extended_next_hop(json),
        notification: notification(json),
        said: last_error(json),
    }
}

/// Which ends advertise the extended next hop capability; known only while the session is established.
fn extended_next_hop(json: &Value) -> Option<ExtendedNextHop> {
    let offers = json["neighborCapabilities"]["extendedNexthop"].as_str()?;
    let [ours, theirs] = ["dvertised", "eceived"].map(|word| offers.contains(word));
    Some(ExtendedNextHop { ours, theirs })
}

/// The address families of both ends; known only while the session is established.
fn negotiated_families(json: &Value) -> Option<Vec<Family>> {
    let json = json["neighborCapabilities"]["multiprotocolExtensions"].as_object()?;
    let has =
        |name: &str| json.get(name).is_some_and(|capability| capability["advertisedAndReceived"] == true);
    let both = [(Family::V4, "ipv4Unicast"), (Family::V6, "ipv6Unicast")];
    Some(both.into_iter().filter(|(_, name)| has(name)).map(|(family, _)| family).collect())
}

/// The notification that last closed the session.
fn notification(json: &Value) -> Option<Notification> {
    let sent = json["lastResetDueTo"].as_str().is_some_and(|why| why.contains("send"));
    Notification::parse(json["lastErrorCodeSubcode"].as_str()?, sent)
}

/// The daemon's last error message.
fn last_error(json: &Value) -> Option<String> {
    let word = |key: &str| json[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let reset = word("lastResetDueTo").filter(|text| !text.eq_ignore_ascii_case("never"))?;
    let notified = word("lastNotificationReason").filter(|notified| !reset.contains(notified));
    Some(notified.map_or_else(|| reset.to_owned(), |notified| format!("{reset}: {notified}")))
}

/// The metric of every route that zebra installs.
const KERNEL_METRIC: u32 = 20;

/// A BGP route in the kernel, according to zebra.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstalledRoute {
    /// The VRF or namespace; none for the node's own table.
    pub domain: Option<String>,
    /// The destination.
    pub prefix: IpNet,
    /// The next hops that are in the kernel.
    pub hops: BTreeSet<NextHop>,
    /// The preferred source address.
    pub source: Option<IpAddr>,
}

impl InstalledRoute {
    /// The kernel's form of the route; none in a VRF other than `vrf`, whose table is unknown.
    pub fn in_kernel(self, vrf: Option<&(String, u32)>) -> Option<route::Route> {
        let table = match &self.domain {
            None => route::MAIN,
            Some(domain) => vrf.filter(|(name, _)| name == domain)?.1,
        };
        let Self { prefix, source, hops, .. } = self;
        let protocol = route::RouteOrigin::Bgp;
        Some(route::Route { prefix, table, protocol, metric: KERNEL_METRIC, source, hops })
    }
}

impl fmt::Display for InstalledRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.prefix)?;
        self.domain.iter().try_for_each(|domain| write!(f, " in {domain}"))
    }
}

/// The routes that zebra has installed, from the replies to [`ROUTES`].
pub fn routes(replies: [&str; 2]) -> Result<Vec<InstalledRoute>, ReplyError> {
    let mut found = Vec::new();
    for (command, reply) in ROUTES.into_iter().zip(replies) {
        for (key, json) in parse_objects(command, reply)?.into_iter().flatten() {
            // With several VRFs there is another level: their names.
            match json {
                Value::Object(of_vrf) => {
                    of_vrf.iter().for_each(|(prefix, json)| collect_installed(prefix, json, &mut found));
                }
                json => collect_installed(&key, &json, &mut found),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn collect_installed(prefix: &str, json: &Value, found: &mut Vec<InstalledRoute>) {
    let Ok(prefix) = prefix.parse() else { return };
    for route in json.as_array().into_iter().flatten() {
        let is_installed = route["installed"] == true && route["selected"] == true;
        let next_hops = route["nexthops"].as_array().into_iter().flatten().filter(|hop| hop["fib"] == true);
        let source = next_hops.clone().find_map(|hop| hop["rmapSource"].as_str()?.parse().ok());
        let hops = next_hops.filter_map(|hop| {
            let link = u32::try_from(hop["interfaceIndex"].as_u64()?).ok()?;
            Some(NextHop { via: hop["ip"].as_str().and_then(|via| via.parse().ok()), link })
        });
        let hops = hops.collect();
        let domain = route["vrfName"].as_str().filter(|vrf| *vrf != "default").map(str::to_owned);
        if is_installed {
            found.push(InstalledRoute { domain, prefix, hops, source });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! reply {
        ($release:literal, $file:literal) => {
            include_str!(concat!("../../tests/data/frr/", $release, "/", $file))
        };
    }

    /// Replies of FRR 8.4 and 10.3 about a session with a leaf: while it was up, and after the leaf shut it down.
    const REPLIES: [[&str; 5]; 2] = [
        [
            reply!("8.4", "up/neighbors.json"),
            reply!("8.4", "up/peers.json"),
            reply!("8.4", "down/neighbors.json"),
            reply!("8.4", "down/peers.json"),
            reply!("8.4", "up/routes.json"),
        ],
        [
            reply!("10.3", "up/neighbors.json"),
            reply!("10.3", "up/peers.json"),
            reply!("10.3", "down/neighbors.json"),
            reply!("10.3", "down/peers.json"),
            reply!("10.3", "up/routes.json"),
        ],
    ];

    fn parse_one(neighbors: &str, peers: &str) -> Session {
        let [session] = sessions(neighbors, Some(peers)).unwrap().try_into().unwrap();
        session
    }

    #[test]
    fn a_session_that_is_up_has_an_uptime_and_prefixes() {
        for [neighbors, peers, ..] in REPLIES {
            let session = parse_one(neighbors, peers);

            assert_eq!((session.peer.as_str(), session.domain.as_deref()), ("eth0", None));
            assert_eq!(session.watched, session.address);
            assert!(session.address.unwrap().starts_with("fe80::"));
            assert_eq!(
                (session.state, session.bfd, session.asn),
                (SessionState::Established, Some(true), Some(65100))
            );
            assert_eq!((session.received, session.sent, session.established), (1, 1, 1));
            assert_eq!(session.families, Some(vec![Family::V4]));
            assert!(session.uptime.is_some());
        }
    }

    #[test]
    fn a_session_that_is_down_has_the_last_error() {
        for [_, _, neighbors, peers, _] in REPLIES {
            let session = parse_one(neighbors, peers);

            assert_eq!((session.state, session.uptime, session.received), (SessionState::Idle, None, 0));
            assert_eq!(
                session.said.as_deref(),
                Some("BGP Notification received: Cease/Administrative Shutdown")
            );
        }
    }

    #[test]
    fn the_bfd_state_is_that_of_the_current_address_of_a_port() {
        for [neighbors, peers, ..] in REPLIES {
            let moved = parse_one(neighbors, &peers.replace("\"peer\":\"fe80::", "\"peer\":\"fe80::bad:"));

            assert_eq!(moved.bfd, Some(false));
            assert!(moved.watched.unwrap().starts_with("fe80::bad:"));
            assert_eq!(parse_one(neighbors, &peers.replace("\"up\"", "\"down\"")).bfd, Some(false));
        }
    }

    #[test]
    fn a_family_is_negotiated_if_both_ends_advertise_it() {
        for [neighbors, peers, ..] in REPLIES {
            let offered = neighbors.replace(
                "\"multiprotocolExtensions\":{",
                "\"multiprotocolExtensions\":{\"ipv6Unicast\":{\"advertised\":true},",
            );

            assert_ne!(offered, neighbors);
            assert_eq!(parse_one(&offered, peers).families, Some(vec![Family::V4]));
        }
    }

    #[test]
    fn sessions_in_a_vrf_have_its_name() {
        let neighbors = REPLIES[0][0].replace("\"default\":{", "\"metallb\":{");

        let [session] = sessions(&neighbors, None).unwrap().try_into().unwrap();

        assert_eq!(session.domain.as_deref(), Some("metallb"));
    }

    #[test]
    fn only_installed_routes_are_returned() {
        for [.., json] in REPLIES {
            let listed = routes([json, "{}"]).unwrap();
            let twice = routes([&format!("{json}{}", json.replace("default", "red")), "{}"]).unwrap();
            let gone = routes([&json.replace("\"installed\":true,", ""), "{}"]).unwrap();

            let shown =
                |routes: Vec<InstalledRoute>| routes.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(listed[0].hops.len(), 1);
            assert_eq!(shown(listed), ["198.51.100.0/24"]);
            assert_eq!(shown(twice), ["198.51.100.0/24", "198.51.100.0/24 in red"]);
            assert_eq!(gone, []);
        }
    }

    #[test]
    fn a_malformed_reply_is_an_error() {
        let error = sessions("% no such thing", None).unwrap_err().to_string();

        assert!(
            error.starts_with("cannot parse FRR's reply to `show bgp vrf all neighbors json`"),
            "{error}"
        );
        assert_eq!(sessions("{}", Some("[]")), Ok(Vec::new()));
    }

    #[test]
    fn daemons_start_in_order_with_the_options_of_the_file() {
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
    fn every_problem_of_a_daemons_file_is_reported() {
        let error = daemons("ospfd=yes\nripd=yes\nzebra=no\n", (8, 4)).unwrap_err();

        assert_eq!(error.0.len(), 3);
        assert!(error.to_string().contains("FRR needs zebra"), "{error}");
    }

    #[test]
    fn a_release_has_the_first_two_numbers_of_a_version() {
        assert_eq!(
            parse_version("zebra version 8.4.4\nCopyright 1996-2005 Kunihiro Ishiguro\n"),
            Some((8, 4))
        );
        assert_eq!(parse_version("zebra version 10.3\n"), Some((10, 3)));
        assert_eq!(parse_version("zebra version 10.5.1_git\n"), Some((10, 5)));
        assert_eq!(parse_version("zebra\n"), None);
    }
}

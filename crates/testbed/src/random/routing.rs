//! Random `routing` sections of a cluster file.

use ichor_values::Backend;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::{FAR, PORTS, list, map, quoted, some};

/// A BGP implementation and version, with its limitations.
#[derive(Clone, Copy, Debug)]
struct BgpDaemon {
    backend: Backend,
    version: Option<&'static str>,
}

impl BgpDaemon {
    fn any(backend: Backend) -> impl Strategy<Value = Self> {
        let versions = match backend {
            Backend::Native => vec![None],
            Backend::Frr => vec![None, Some("8.4"), Some("9.1"), Some("10.3")],
            Backend::Bird => vec![None, Some("2.0.12"), Some("2.17.5")],
            Backend::Gobgp => vec![None, Some("3.36.0"), Some("4.8.0")],
        };
        select(versions).prop_map(move |version| Self { backend, version })
    }

    fn is(self, backend: Backend) -> bool {
        self.backend == backend
    }

    fn is_gobgp_3(self) -> bool {
        self.version == Some("3.36.0")
    }

    /// Whether it supports a kind of neighbour. GoBGP 3 needs an address; Talos itself uses no next hop of IPv6.
    fn goes(self, way: NeighborKind) -> bool {
        match way {
            NeighborKind::Port => !self.is_gobgp_3(),
            NeighborKind::V6 => !self.is(Backend::Native),
            NeighborKind::V4 | NeighborKind::Router => true,
        }
    }

    fn isolations(self) -> Vec<&'static str> {
        match self.backend {
            Backend::Native => vec!["vrf"],
            Backend::Frr => vec!["vrf", "netns", "none"],
            Backend::Bird => vec!["vrf", "none"],
            Backend::Gobgp => vec!["none"],
        }
    }

    /// An optional value, with a probability, if it is supported at all.
    fn maybe(able: bool, often: f64, what: BoxedStrategy<String>) -> BoxedStrategy<Option<String>> {
        if able { option::weighted(often, what).boxed() } else { Just(None).boxed() }
    }
}

/// The section `routing` of a cluster. With `routers`, neighbours can be those too.
pub fn routing(id: u32, backend: Backend, routers: Vec<String>) -> impl Strategy<Value = String> {
    BgpDaemon::any(backend).prop_flat_map(move |daemon| of(id, daemon, &routers))
}

fn of(id: u32, daemon: BgpDaemon, routers: &[String]) -> BoxedStrategy<String> {
    let asn = option::of(select(vec!["64512".to_owned(), "4200000000".to_owned()]));
    let router_id = option::of(select(vec!["192.0.2.0".to_owned(), "10.254.0.0".to_owned()]));
    let advertise = ["loopback", "dummy", "anycast"].map(str::to_owned).to_vec();
    let advertise = option::of(some(advertise, 1));
    let aggregates = vec![format!("10.{id}.254.0/24"), quoted(format!("fd00:{id}:fe::/64"))];
    let aggregates = BgpDaemon::maybe(daemon.is(Backend::Frr), 0.2, some(aggregates, 1).boxed());
    let longest = if daemon.is(Backend::Native) { 0..1 } else { 0..4096_u32 };
    let graceful =
        longest.prop_map(|time| if time == 0 { "false".to_owned() } else { format!("{{time: {time}}}") });
    let policy = BgpDaemon::maybe(!daemon.is(Backend::Native), 0.5, policy());
    let whom = (neighbors(id, daemon, routers), policy, option::weighted(0.7, workload(id, daemon)));
    let about = (asn, router_id, advertise, aggregates, option::of(graceful));
    (about, whom)
        .prop_map(move |((asn, router_id, advertise, aggregates, graceful), whom)| {
            let (neighbors, policy, workload) = whom;
            map([
                ("backend", Some(daemon.backend.word().to_owned())),
                ("version", daemon.version.map(quoted)),
                ("asn", asn),
                ("router_id", router_id),
                ("advertise", advertise),
                ("aggregates", aggregates),
                ("graceful_restart", graceful),
                ("neighbors", Some(neighbors)),
                ("policy", policy),
                ("workload", workload),
            ])
        })
        .boxed()
}

/// How a node addresses a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeighborKind {
    Port,
    V4,
    V6,
    /// The keys in the file.
    Router,
}

/// Some neighbours of a node: on its ports, at near and far addresses, or routers of the file.
fn neighbors(id: u32, daemon: BgpDaemon, routers: &[String]) -> BoxedStrategy<String> {
    let ports = PORTS.map(|port| (NeighborKind::Port, format!("link: {port}")));
    let v4 = [format!("10.{id}.0.254"), FAR[0].into()].map(|it| (NeighborKind::V4, format!("address: {it}")));
    let v6 = [format!("fd00:{id}::fffe"), FAR[1].into()];
    let v6 = v6.map(|it| (NeighborKind::V6, format!("address: {}", quoted(it))));
    let mut all: Vec<_> = routers.iter().map(|keys| (NeighborKind::Router, keys.clone())).collect();
    if routers.is_empty() {
        all.extend(ports.into_iter().chain(v4).chain(v6).filter(|(way, _)| daemon.goes(*way)));
    }
    let most = all.len();
    // BIRD has one password for all ports. Talos itself has none, and forwards routes between routers, unless they
    // are of one AS.
    (subsequence(all, 1..=most).prop_shuffle(), any::<bool>(), asn())
        .prop_flat_map(move |(found, secret, asn)| {
            let one = |(way, keys): (NeighborKind, String)| {
                let secret = match daemon.backend {
                    Backend::Native => Some(false),
                    Backend::Bird if way == NeighborKind::Port => Some(secret),
                    _ => None,
                };
                let asn = daemon.is(Backend::Native).then(|| asn.clone());
                neighbor(daemon, (way, keys), asn, secret)
            };
            found.into_iter().map(one).collect::<Vec<_>>().prop_map(list)
        })
        .boxed()
}

/// A neighbour; its AS number and whether it has a password are any, unless they are given.
fn neighbor(
    daemon: BgpDaemon,
    (way, keys): (NeighborKind, String),
    given: Option<String>,
    secret: Option<bool>,
) -> BoxedStrategy<String> {
    let asn = (asn(), any::<bool>()).prop_map(move |(asn, is_written)| match way {
        NeighborKind::Router => None,
        NeighborKind::Port => given.clone().or(is_written.then_some(asn)),
        NeighborKind::V4 | NeighborKind::V6 => given.clone().or(Some(asn)),
    });
    let native = daemon.is(Backend::Native);
    let timers = option::of((1..21_845_u16).prop_flat_map(move |keepalive| {
        let longest = if native { keepalive * 3 + 2 } else { u16::MAX };
        (Just(keepalive), keepalive * 3..=longest)
    }));
    let timers = timers.prop_map(|timers| timers.map(|(keepalive, hold)| format!("[{keepalive}, {hold}]")));
    let bfd = BgpDaemon::maybe(!daemon.is_gobgp_3(), 0.5, bfd().boxed());
    let rest = (bfd, timers, option::of(any::<bool>()), any::<bool>());
    (asn, rest)
        .prop_map(move |(asn, (bfd, timers, passive, any_secret))| {
            let secret = secret.unwrap_or(any_secret);
            let rest = map([
                ("asn", asn),
                ("bfd", bfd),
                ("timers", timers),
                ("passive", passive.map(|passive| passive.to_string())),
                ("password", secret.then(|| "{env: PW}".to_owned())),
            ]);
            format!("{{{keys}, {}", &rest[1..])
        })
        .boxed()
}

/// A private AS number, now and then that of a node.
pub fn asn() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => 64_512..65_535_u32,
        2 => 4_200_000_000..4_294_967_295_u32,
        1 => select(vec![64_513, 4_200_000_001]),
    ]
    .prop_map(|asn| asn.to_string())
}

pub fn bfd() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<bool>().prop_map(|on| on.to_string()),
        (10..60_001_u32, 1..=255_u8)
            .prop_map(|(interval, lost)| format!("{{interval: {interval}, multiplier: {lost}}}")),
    ]
}

fn policy() -> BoxedStrategy<String> {
    let allow = [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "192.0.2.128/25",
        "198.51.100.7/32",
        "::/0",
        "fd00::/8",
        "2001:db8::1/128",
    ];
    let allow = option::of(some(allow.map(quoted).to_vec(), 1));
    let most = option::of((1..=u32::MAX).prop_map(|most| most.to_string()));
    let preference = option::of(any::<u32>().prop_map(|preference| preference.to_string()));
    let named =
        ["no-export", "no-advertise", "local-as", "no-peer", "blackhole", "graceful-shutdown", "accept-own"];
    let numbers = ["65000:2", "65000:1", "1:0", "65535:65281", "065000:07", "4200000000:1:2", "1:02:3"];
    let communities = [named, numbers].concat();
    let communities = option::of(some(communities.into_iter().map(quoted).collect(), 1));
    let prepend = option::of((0..=10_u8).prop_map(|times| times.to_string()));
    (allow, most, preference, communities, prepend)
        .prop_map(|(allow, most, preference, communities, prepend)| {
            map([
                (
                    "in",
                    Some(map([("allow", allow), ("max_prefixes", most), ("local_preference", preference)])),
                ),
                ("out", Some(map([("communities", communities), ("prepend", prepend)]))),
            ])
        })
        .boxed()
}

fn workload(id: u32, daemon: BgpDaemon) -> BoxedStrategy<String> {
    let isolation = option::of(select(daemon.isolations()));
    let mode = option::of(select(vec!["{mode: frr-k8s}", "{mode: native}"]));
    let link = option::of(select(vec![
        "{ours: 192.168.250.254, theirs: 192.168.250.255, prefix: 31}".to_owned(),
        "{ours: \"fda1:b2c3:d4e5:1::\", theirs: \"fda1:b2c3:d4e5:1::1\", prefix: 127}".to_owned(),
        "{names: {ours: our-end, theirs: their-end}}".to_owned(),
    ]));
    let asn =
        option::of((asn(), asn()).prop_map(|(ours, theirs)| format!("{{ours: {ours}, theirs: {theirs}}}")));
    let allow = vec![
        format!("10.{id}.250.0/24"),
        format!("10.{id}.0.192/26"),
        "203.0.113.7/32".to_owned(),
        quoted(format!("fd00:{id}:250::/112")),
        quoted("::/0"),
    ];
    let allow = option::of(some(allow, 0));
    let vrf =
        BgpDaemon::maybe(!daemon.is(Backend::Gobgp), 0.5, Just("{name: lb, table: 99}".to_owned()).boxed());
    let who = (select(vec!["metallb", "cilium"]), mode, isolation, vrf);
    let bfd = BgpDaemon::maybe(!daemon.is(Backend::Gobgp) && !daemon.is(Backend::Native), 0.5, bfd().boxed());
    (who, link, asn, bfd, allow)
        .prop_map(|((speaker, mode, isolation, vrf), link, asn, bfd, allow)| {
            map([
                ("speaker", Some(speaker.to_owned())),
                ("metallb", mode.filter(|_| speaker == "metallb").map(str::to_owned)),
                ("isolation", isolation.map(str::to_owned)),
                ("vrf", vrf.filter(|_| isolation != Some("netns") && isolation != Some("none"))),
                ("link", link),
                ("asn", asn),
                ("bfd", bfd),
                ("allow", allow),
            ])
        })
        .boxed()
}

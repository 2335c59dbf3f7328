//! Clusters that nobody thought of: any mixture of what a node's routing can be asked, as far as the backend can do it.

use ichor_core::cluster::section::Backend;
use ichor_core::model::{self, Cluster};
use ichor_core::plan::{self, Plan};
use ichor_core::render::routing::Service;
use ichor_core::rules::Severity;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::routing::{routed, service_with};

/// A cluster file and the password that all its references lead to.
#[derive(Clone, Debug)]
pub struct Random {
    pub text: String,
    pub password: String,
}

impl Random {
    /// The service of each kind of node.
    pub fn services(&self) -> Result<Vec<(String, Service)>, TestCaseError> {
        let (cluster, plan) = super::planned(super::load_text(self.text.as_str()));
        let mut services = Vec::new();
        for node in routed(&plan) {
            let service = service_with(&cluster, &plan, node, &|_| Ok(self.password.clone()));
            let service = service.map_err(|refusals| TestCaseError::fail(format!("{refusals:?}")))?;
            services.extend(service.map(|service| (node.name.to_string(), service)));
        }
        Ok(services)
    }
}

/// Asks something of `count` clusters, the same ones every time. One of which it does not hold is made as small as can be.
pub fn holds_for(count: u32, backend: Backend, ask: impl Fn(&Random) -> Result<(), TestCaseError>) {
    let config =
        Config { cases: count, failure_persistence: None, max_shrink_iters: 40, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let done = runner.run(&clusters(backend), |random| {
        ask(&random).map_err(|error| TestCaseError::fail(format!("{error}\n{}", random.text)))
    });
    if let Err(error) = done {
        panic!("{error}");
    }
}

/// Cluster files that are understood, that no rule finds wrong, and whose plan the backend can carry out.
pub fn clusters(backend: Backend) -> impl Strategy<Value = Random> {
    (1..250_u32, "[!-~]{1,80}")
        .prop_flat_map(move |(id, password)| {
            (network(id), routing(id, backend), Just(id), Just(password)).prop_map(
                |(network, routing, id, password)| Random { text: file(id, &network, &routing), password },
            )
        })
        .prop_filter("cannot be carried out", |random| sound(&random.text) && leads_away(&random.text))
}

/// Whether a file is understood, and no rule finds it wrong.
fn sound(text: &str) -> bool {
    let loaded = super::load_text(text);
    let understood: Result<Cluster, _> = model::validate(loaded.file, loaded.problems);
    let cluster = understood.unwrap_or_else(|problems| panic!("{text}: {problems:#?}"));
    let plan: Plan = plan::plan(&cluster);
    let able = plan.nodes.iter().all(|node| node.routing.as_ref().is_none_or(|it| it.lacks.is_empty()));
    let mut findings = super::check(&(cluster, plan), &mut super::Alone(text.into())).into_iter();

    able && findings.all(|finding| finding.rule.severity != Severity::Error)
}

/// Whether the routes of a speaker that nothing keeps apart can be pointed at a neighbour, whatever their family.
fn leads_away(text: &str) -> bool {
    !text.contains("isolation: none") || FAR.iter().all(|address| text.contains(address))
}

/// Neighbours across other routers.
const FAR: [&str; 2] = ["192.0.2.1", "2001:db8::1"];

fn file(id: u32, network: &str, routing: &str) -> String {
    let macs = |node: u32| {
        let macs = (0..PORTS.len()).map(|port| format!("\"02:00:00:00:{node:02x}:{port:02x}\""));
        macs.collect::<Vec<_>>().join(", ")
    };
    format!(
        "cluster: {{name: any, id: {id}, talos: v1.13.9, cni: none, pods: [100.64.0.0/16], services: [100.65.0.0/16]}}\n\
         network: {network}\nrouting: {routing}\n\
         defaults: {{platform: metal, install: {{disk: /dev/sda}}, ports: [{}]}}\nnodes:\n\
         - {{name: cp-1, role: controlplane, index: 1, macs: [{}]}}\n\
         - {{name: 2nd-worker, role: worker, index: 2, macs: [{}]}}\n",
        PORTS.join(", "),
        macs(1),
        macs(2),
    )
}

const PORTS: [&str; 4] = ["eth0", "eth1", "enp129s0f1np1", "fab-a"];

/// `{key: value, ...}` of the keys that are there.
fn map(entries: impl IntoIterator<Item = (&'static str, Option<String>)>) -> String {
    let entries = entries.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", value?)));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

/// Some of the items, in an order of their own.
fn some(items: Vec<String>, least: usize) -> impl Strategy<Value = String> {
    let most = items.len();
    subsequence(items, least..=most).prop_shuffle().prop_map(list)
}

/// Prefixes of one family or both.
fn families(v4: String, v6: String) -> impl Strategy<Value = String> {
    select(vec![(true, true), (true, false), (false, true)]).prop_map(move |(has4, has6)| {
        let keep = |has: bool, net: &str| Some(if has { quoted(net) } else { "null".to_owned() });
        map([("v4", keep(has4, &v4)), ("v6", keep(has6, &v6))])
    })
}

fn network(id: u32) -> impl Strategy<Value = String> {
    let node = prop_oneof![
        Just("null".to_owned()),
        families(format!("10.{id}.0.0/24"), format!("fd00:{id}::/64")),
        Just(format!("{{v4: 10.{id}.0.0/24, addressing: dhcp-then-static}}")),
    ];
    let loopback = families(format!("10.{id}.254.0/24"), format!("fd00:{id}:fe::/64"));
    let dummy = families(format!("10.{id}.1.0/24"), format!("fd00:{id}:d::/64"));
    let dummy = option::of(dummy.prop_map(|dummy| format!("{{dummy0: {dummy}}}")));
    let anycast = vec![format!("10.{id}.2.100/32"), quoted(format!("fd00:{id}:a::100/128"))];
    let anycast = option::of(some(anycast, 1).prop_map(|anycast| format!("{{anycast: {anycast}}}")));
    // One of them lies within the node prefix.
    let pools = vec![format!("10.{id}.0.192/26"), "198.51.100.0/24".to_owned(), quoted("2001:db8:5::/112")];
    let pools = option::of(some(pools, 1).prop_map(|pools| format!("{{pools: {{default: {pools}}}}}")));
    (node, loopback, dummy, anycast, pools).prop_map(|(node, loopback, dummy, anycast, pools)| {
        map([
            ("node", Some(node)),
            ("loopback", Some(loopback)),
            ("dummy", dummy),
            ("api", anycast),
            ("services", pools),
        ])
    })
}

fn routing(id: u32, backend: Backend) -> impl Strategy<Value = String> {
    let versions = match backend {
        Backend::Native => vec![],
        Backend::Frr => vec!["8.4", "9.1", "10.3"],
        Backend::Bird => vec!["2.0.12", "2.17.5"],
        Backend::Gobgp => vec!["3.36.0", "4.8.0"],
    };
    let version = option::of(any::<prop::sample::Index>()).prop_map(move |nth| {
        nth.filter(|_| !versions.is_empty()).map(|nth| (*nth.get(&versions)).to_owned())
    });
    let asn = option::of(select(vec!["64512".to_owned(), "4200000000".to_owned()]));
    let router_id = option::of(select(vec!["192.0.2.0".to_owned(), "10.254.0.0".to_owned()]));
    let advertise = ["loopback", "dummy", "anycast"].map(str::to_owned).to_vec();
    let advertise = option::of(some(advertise, 1));
    let aggregates = vec![format!("10.{id}.254.0/24"), quoted(format!("fd00:{id}:fe::/64"))];
    let aggregates = option::weighted(0.2, some(aggregates, 1));
    let graceful =
        prop_oneof![Just("false".to_owned()), (0..6000_u32).prop_map(|time| format!("{{time: {time}}}"))];
    let whom = (neighbors(id), option::of(policy()), option::weighted(0.7, workload(id)));
    let about = (version, asn, router_id, advertise, aggregates, option::of(graceful));
    (about, whom).prop_map(move |((version, asn, router_id, advertise, aggregates, graceful), whom)| {
        let (neighbors, policy, workload) = whom;
        map([
            ("backend", Some(backend.word().to_owned())),
            ("version", version.map(quoted)),
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
}

/// Some of the neighbours that a node can have: on its ports, and at addresses near and far.
fn neighbors(id: u32) -> impl Strategy<Value = String> {
    let ports = PORTS.map(|port| ("link", port.to_owned()));
    let addresses = [format!("10.{id}.0.254"), format!("fd00:{id}::fffe"), FAR[0].into(), FAR[1].into()];
    let addresses = addresses.map(|address| ("address", quoted(address)));
    let all = [ports, addresses].concat();
    let most = all.len();
    subsequence(all, 1..=most)
        .prop_shuffle()
        .prop_flat_map(|found| found.into_iter().map(neighbor).collect::<Vec<_>>().prop_map(list))
}

fn neighbor((key, found): (&'static str, String)) -> impl Strategy<Value = String> {
    let found_by_address = key == "address";
    let asn = (asn(), any::<bool>()).prop_map(move |(asn, told)| (told || found_by_address).then_some(asn));
    let timers = option::of((1..21_845_u16).prop_flat_map(|keepalive| (Just(keepalive), keepalive * 3..)));
    let timers = timers.prop_map(|timers| timers.map(|(keepalive, hold)| format!("[{keepalive}, {hold}]")));
    let rest = (option::of(bfd()), timers, option::of(any::<bool>()), any::<bool>());
    (asn, rest).prop_map(move |(asn, (bfd, timers, passive, secret))| {
        map([
            (key, Some(found.clone())),
            ("asn", asn),
            ("bfd", bfd),
            ("timers", timers),
            ("passive", passive.map(|passive| passive.to_string())),
            ("password", secret.then(|| "{env: PW}".to_owned())),
        ])
    })
}

/// A private AS number, now and then that of a node.
fn asn() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => 64_512..65_535_u32,
        2 => 4_200_000_000..4_294_967_295_u32,
        1 => select(vec![64_513, 4_200_000_001]),
    ]
    .prop_map(|asn| asn.to_string())
}

fn bfd() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<bool>().prop_map(|on| on.to_string()),
        (10..60_001_u32, 1..=255_u8)
            .prop_map(|(interval, lost)| format!("{{interval: {interval}, multiplier: {lost}}}")),
    ]
}

fn policy() -> impl Strategy<Value = String> {
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
    (allow, most, preference, communities, prepend).prop_map(
        |(allow, most, preference, communities, prepend)| {
            map([
                (
                    "in",
                    Some(map([("allow", allow), ("max_prefixes", most), ("local_preference", preference)])),
                ),
                ("out", Some(map([("communities", communities), ("prepend", prepend)]))),
            ])
        },
    )
}

fn workload(id: u32) -> impl Strategy<Value = String> {
    let isolation = option::of(select(vec!["vrf", "netns", "none"]));
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
    let vrf = option::of(Just("{name: lb, table: 99}".to_owned()));
    let who = (select(vec!["metallb", "cilium"]), mode, isolation, vrf);
    (who, link, asn, option::of(bfd()), allow).prop_map(
        |((speaker, mode, isolation, vrf), link, asn, bfd, allow)| {
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
        },
    )
}

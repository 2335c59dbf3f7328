//! A router that is told what ichor writes for it, and what it then knows.

use std::collections::{BTreeMap, BTreeSet};

use ichor_core::routing;
use serde_json::{Deserializer, Value};

use super::kernel::{learnt, next_hops};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, output_text};

/// What a router knows.
#[derive(Debug, Default, PartialEq)]
pub struct View {
    /// The AS paths to each prefix.
    pub paths: BTreeMap<String, BTreeSet<String>>,
    /// What each neighbour announced, whatever was taken of it.
    pub told: BTreeMap<String, BTreeSet<String>>,
    /// How many next hops the kernel has for each prefix.
    pub ways: BTreeMap<String, usize>,
}

/// The bridge that nodes with addresses are cabled to.
const BRIDGE: &str = "nodes";

pub struct Router {
    pub machine: LabMachine,
    pub told: routing::FabricRouter,
    frr: Frr,
    conf: String,
    daemons: String,
}

impl Router {
    pub fn new(told: routing::FabricRouter, conf: String, daemons: String) -> Self {
        let old = told.version.as_ref().is_some_and(|version| version.minor().0 < 9);
        let frr = if old { Frr::V8 } else { Frr::V10 };
        let machine = frr.machine();
        machine.ask("echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding");
        if let Some(vrf) = &told.vrf {
            machine.ask(&format!("ip link add {vrf} type vrf table 1000 && ip link set {vrf} up"));
        }
        Self { machine, told, frr, conf, daemons }
    }

    /// Takes in the cable of a node that finds the router by its address, in a network with prefixes of this length.
    pub fn bridge(&self, port: &str, length: u8) {
        let master = self.told.vrf.as_ref().map(|vrf| format!("master {vrf}")).unwrap_or_default();
        let mut script = format!(
            "set -e\n[ -e /sys/class/net/{BRIDGE} ] || ip link add {BRIDGE} type bridge\n\
             ip link set {BRIDGE} {master} up\nip link set {port} master {BRIDGE}\n"
        );
        for address in &self.told.addresses {
            script += &format!("ip address replace {address}/{length} dev {BRIDGE} nodad\n");
        }
        self.machine.ask(&script);
    }

    /// Starts the daemons. They also keep what they refuse, so that it can be looked at.
    pub fn start(&self) {
        let instance = self.conf.lines().find(|line| line.starts_with("router bgp ")).unwrap();
        let keep = "neighbor NODES soft-reconfiguration inbound\n exit-address-family\n";
        let kept = format!(
            "{instance}\n address-family ipv4 unicast\n  {keep} address-family ipv6 unicast\n  {keep}exit\n"
        );
        self.frr.start(&self.machine, Some(&self.daemons));
        let conf = format!("{}{kept}", self.conf);
        let loaded = Frr::load(&self.machine, &conf);
        assert!(loaded.status.success(), "{}\n{conf}", output_text(&loaded));
    }

    /// What it knows by now from these neighbours.
    pub fn view<'n>(&self, neighbors: impl Iterator<Item = &'n String> + Clone) -> View {
        let received = neighbors.clone().map(|name| format!("neighbors {name} received-routes "));
        let tables = self.tables(&[String::new()].into_iter().chain(received).collect::<Vec<_>>());
        let mut view = View::default();
        for (net, paths) in entries(&tables[0], "routes") {
            let paths = paths.as_array().into_iter().flatten().filter_map(|path| path["path"].as_str());
            view.paths.insert(net, paths.map(str::to_owned).collect());
        }
        for (name, tables) in neighbors.zip(&tables[1..]) {
            let nets = entries(tables, "receivedRoutes").map(|(net, _)| net);
            view.told.insert(name.clone(), nets.collect());
        }
        for (net, ways) in learnt(&self.machine, self.told.vrf.as_deref()) {
            view.ways.insert(net, next_hops(&ways));
        }
        view
    }

    /// Tables of BGP, each of both families. They are asked for at once: it is vtysh that takes the time.
    fn tables(&self, which: &[String]) -> Vec<Vec<Value>> {
        let vrf = self.told.vrf.as_ref().map(|vrf| format!("vrf {vrf} ")).unwrap_or_default();
        let of = |which: &String| {
            ["ipv4", "ipv6"]
                .map(|family| format!(" -c 'show bgp {vrf}{family} unicast {which}json'"))
                .concat()
        };
        let said = self.machine.ask(&format!("vtysh{}", which.iter().map(of).collect::<String>()));
        let values: Result<Vec<_>, _> = Deserializer::from_str(&said).into_iter().collect();
        let values: Vec<Value> = values.unwrap_or_else(|error| panic!("{error}: {said}"));
        values.chunks(2).map(<[_]>::to_vec).collect()
    }

    /// What can be said when something never comes.
    pub fn state(&self) -> String {
        let said =
            self.machine.run("ip -br address; vtysh -c 'show bgp vrf all summary' -c 'show running-config'");
        format!("{}:\n{}", self.told.name, String::from_utf8_lossy(&said.stdout))
    }
}

/// What stands under a key of both families' tables.
fn entries<'t>(tables: &'t [Value], key: &'t str) -> impl Iterator<Item = (String, &'t Value)> {
    let found = tables.iter().filter_map(move |table| table[key].as_object());
    found.flatten().map(|(net, value)| (net.clone(), value))
}

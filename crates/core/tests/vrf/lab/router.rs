//! A router with the configuration of ichor, and its routes.

use std::collections::{BTreeMap, BTreeSet};

use ichor_core::routing;
use serde_json::{Deserializer, Value};

use super::kernel::{learnt, next_hops};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, output_text};

/// The routes of a router.
#[derive(Debug, Default, PartialEq)]
pub struct View {
    /// The AS paths to each prefix.
    pub paths: BTreeMap<String, BTreeSet<String>>,
    /// The routes that each neighbour announced, before filters.
    pub announced: BTreeMap<String, BTreeSet<String>>,
    /// The number of next hops in the kernel for each prefix.
    pub ways: BTreeMap<String, usize>,
}

/// The bridge of nodes with addresses.
const BRIDGE: &str = "nodes";

pub struct Router {
    pub machine: LabMachine,
    pub announced: routing::FabricRouter,
    frr: Frr,
    conf: String,
    daemons: String,
}

impl Router {
    pub fn new(announced: routing::FabricRouter, conf: String, daemons: String) -> Self {
        let old = announced.version.as_ref().is_some_and(|version| version.minor().0 < 9);
        let frr = if old { Frr::V8 } else { Frr::V10 };
        let machine = frr.machine();
        machine.ask("echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding");
        if let Some(vrf) = &announced.vrf {
            machine.ask(&format!("ip link add {vrf} type vrf table 1000 && ip link set {vrf} up"));
        }
        Self { machine, announced, frr, conf, daemons }
    }

    /// Adds the cable of a node with a numbered session, in a network with prefixes of this length.
    pub fn bridge(&self, port: &str, length: u8) {
        let master = self.announced.vrf.as_ref().map(|vrf| format!("master {vrf}")).unwrap_or_default();
        let mut script = format!(
            "set -e\n[ -e /sys/class/net/{BRIDGE} ] || ip link add {BRIDGE} type bridge\n\
             ip link set {BRIDGE} {master} up\nip link set {port} master {BRIDGE}\n"
        );
        for address in &self.announced.addresses {
            script += &format!("ip address replace {address}/{length} dev {BRIDGE} nodad\n");
        }
        self.machine.ask(&script);
    }

    /// Starts the daemons. They also keep rejected routes, so that they can be checked.
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

    /// Its routes from these neighbours.
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
            view.announced.insert(name.clone(), nets.collect());
        }
        for (net, ways) in learnt(&self.machine, self.announced.vrf.as_deref()) {
            view.ways.insert(net, next_hops(&ways));
        }
        view
    }

    /// The BGP tables of both families. They are queried at once, because vtysh is slow.
    fn tables(&self, which: &[String]) -> Vec<Vec<Value>> {
        let vrf = self.announced.vrf.as_ref().map(|vrf| format!("vrf {vrf} ")).unwrap_or_default();
        let of = |which: &String| {
            ["ipv4", "ipv6"]
                .map(|family| format!(" -c 'show bgp {vrf}{family} unicast {which}json'"))
                .concat()
        };
        let output = self.machine.ask(&format!("vtysh{}", which.iter().map(of).collect::<String>()));
        let values: Result<Vec<_>, _> = Deserializer::from_str(&output).into_iter().collect();
        let values: Vec<Value> = values.unwrap_or_else(|error| panic!("{error}: {output}"));
        values.chunks(2).map(<[_]>::to_vec).collect()
    }

    /// Details for the report of a timeout.
    pub fn state(&self) -> String {
        let output =
            self.machine.run("ip -br address; vtysh -c 'show bgp vrf all summary' -c 'show running-config'");
        format!("{}:\n{}", self.announced.name, String::from_utf8_lossy(&output.stdout))
    }
}

/// The values of a key in both families' tables.
fn entries<'t>(tables: &'t [Value], key: &'t str) -> impl Iterator<Item = (String, &'t Value)> {
    let found = tables.iter().filter_map(move |table| table[key].as_object());
    found.flatten().map(|(net, value)| (net.clone(), value))
}

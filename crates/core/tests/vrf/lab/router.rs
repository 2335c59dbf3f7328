//! A router that is told what ichor writes for it, and what it then knows.

use std::collections::{BTreeMap, BTreeSet};

use ichor_core::routing;
use serde_json::Value;

use crate::common::frr::Frr;
use crate::common::lab::{Machine, said};

/// The paths of each prefix.
pub type Known = BTreeMap<String, BTreeSet<String>>;

/// The bridge that nodes with addresses are cabled to.
const BRIDGE: &str = "nodes";

pub struct Router {
    pub machine: Machine,
    pub told: routing::Router,
    conf: String,
    daemons: String,
}

impl Router {
    pub fn new(told: routing::Router, conf: String, daemons: String) -> Self {
        let machine = Frr::V10.machine();
        machine.ask("echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding");
        if let Some(vrf) = &told.vrf {
            machine.ask(&format!("ip link add {vrf} type vrf table 1000 && ip link set {vrf} up"));
        }
        Self { machine, told, conf, daemons }
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
        Frr::V10.start(&self.machine, Some(&self.daemons));
        let conf = format!("{}{kept}", self.conf);
        let loaded = Frr::load(&self.machine, &conf);
        assert!(loaded.status.success(), "{}\n{conf}", said(&loaded));
    }

    /// What it has of both families.
    pub fn known(&self) -> Known {
        let path = |path: &Value| path["path"].as_str().unwrap_or_default().to_owned();
        let paths = |paths: &Value| paths.as_array().unwrap().iter().map(path).collect();
        let tables = ["ipv4", "ipv6"].map(|family| self.ask(family, ""));
        let routes = tables.iter().filter_map(|table| table["routes"].as_object()).flatten();
        routes.map(|(net, told)| (net.clone(), paths(told))).collect()
    }

    /// What a neighbour announced, whatever was taken of it.
    pub fn told_by(&self, neighbor: &str) -> BTreeSet<String> {
        let more = format!("neighbors {neighbor} received-routes ");
        let tables = ["ipv4", "ipv6"].map(|family| self.ask(family, &more));
        let nets = tables.iter().filter_map(|table| table["receivedRoutes"].as_object());
        nets.flat_map(|nets| nets.keys().cloned()).collect()
    }

    /// The ways of the kernel to a prefix.
    pub fn ways_to(&self, net: &str) -> String {
        let vrf = self.told.vrf.as_ref().map(|vrf| format!("vrf {vrf}")).unwrap_or_default();
        let family = if net.contains(':') { "-6" } else { "-4" };
        self.machine.ask(&format!("ip {family} route show {vrf} {net}"))
    }

    fn ask(&self, family: &str, more: &str) -> Value {
        let vrf = self.told.vrf.as_ref().map(|vrf| format!("vrf {vrf} ")).unwrap_or_default();
        let said = self.machine.ask(&format!("vtysh -c 'show bgp {vrf}{family} unicast {more}json'"));
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// What can be said when something never comes.
    pub fn state(&self) -> String {
        let said = self.machine.run("ip -br address; vtysh -c 'show bgp vrf all summary'; vtysh -c 'show interface swp4' -c 'show bgp neighbors swp4' -c 'show interface swp1'; ip -s link show swp4; ip -6 maddr show swp4; ip maddr show swp1; vtysh -c 'show run'; cat /proc/net/snmp6; cat /proc/net/raw6");
        format!("{}:\n{}{:#?}\n", self.told.name, String::from_utf8_lossy(&said.stdout), self.known())
    }
}

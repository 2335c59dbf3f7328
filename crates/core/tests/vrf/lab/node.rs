//! A node as the agent would set it up: its links, in the order that never flaps, and its daemon.

use std::collections::BTreeMap;

use ichor_bgp::model::{BgpModel, RoutingDomain};
use ichor_bgp::render::Service;

use super::kernel::{learnt, next_hops};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, output_text};

/// The metric of the route that ends lookups in a VRF's table: the lowest priority.
const LAST: u32 = 4_278_198_272;

/// A link like kube-proxy's, which has service addresses and is not announced.
const PROXY: &str = "kube-ipvs0";

/// The source address of a route, and its number of next hops.
pub type Way = (String, usize);

pub struct Node {
    pub machine: LabMachine,
    pub model: BgpModel,
    service: Service,
    root: RootFileSystem,
}

impl Node {
    /// A node with its links, except the ports.
    pub fn new(model: BgpModel, service: Service, root: RootFileSystem) -> Self {
        let machine = LabMachine::new(root);
        machine.ask(
            "install -d -o frr -g frr /run/frr && install -d /run/bird && touch /etc/frr/vtysh.conf\n\
             echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
        );
        let node = Self { machine, model, service, root };
        node.machine.ask(&node.addresses());
        node.machine.ask(&node.workload());
        node
    }

    fn addresses(&self) -> String {
        let mut script = "set -e\n".to_owned();
        for announced in &self.model.fabric.announced {
            let (link, net) = (&announced.link, announced.net);
            if link.as_str() != "lo" {
                script += &format!("[ -e /sys/class/net/{link} ] || ip link add {link} type dummy\n");
            }
            script += &format!("ip link set {link} up\nip address add {net} dev {link}\n");
        }
        script + &format!("ip link add {PROXY} type dummy\nip link set {PROXY} up\n")
    }

    fn workload(&self) -> String {
        let workload = self.model.workload.as_ref().unwrap();
        let RoutingDomain::Vrf { name, table } = &workload.domain else { panic!("{:?}", workload.domain) };
        let (ours, theirs, prefix) = (&workload.ours, &workload.theirs, workload.prefix);
        format!(
            "set -e\n\
             ip link add {name} type vrf table {table}\nip link set {name} up\n\
             ip -4 route add table {table} unreachable default metric {LAST}\n\
             ip -6 route add table {table} unreachable default metric {LAST}\n\
             ip link add {} type veth peer name {}\nip link set {} master {name}\n\
             ip address add {}/{prefix} dev {} nodad\nip address add {}/{prefix} dev {} nodad\n\
             ip link set {} up\nip link set {} up\n",
            ours.link,
            theirs.link,
            ours.link,
            ours.address,
            ours.link,
            theirs.address,
            theirs.link,
            ours.link,
            theirs.link
        )
    }

    /// Starts the daemon, with everything in place.
    pub fn start(&self) {
        let conf = &self.service.files[0].text;
        if self.service.files[0].name == "bird.conf" {
            self.machine.write("/tmp/bird.conf", conf);
            self.machine.start("bird -f -c /tmp/bird.conf -s /run/bird/bird.ctl", "/run/bird/bird.ctl");
            return;
        }
        let frr = if self.root == RootFileSystem::Own { Frr::V8 } else { Frr::V10 };
        frr.start(&self.machine, Some(&self.service.files[1].text));
        let loaded = Frr::load(&self.machine, conf);
        assert!(loaded.status.success(), "{}\n{conf}", output_text(&loaded));
    }

    /// Gives the node service addresses, as kube-proxy would.
    pub fn serve(&self, addresses: &[&str]) {
        let add = |address: &&str| format!("ip address add {address} dev {PROXY}\n");
        self.machine.ask(&format!("set -e\n{}", addresses.iter().map(add).collect::<String>()));
    }

    /// The addresses that do not answer this node.
    pub fn unanswered(&self, addresses: &[String]) -> String {
        let ping = |net: &String| {
            let address = net.split('/').next().unwrap();
            format!("(busybox ping -c 3 -W 5 {address} >/dev/null || echo {address}) &\n")
        };
        let beside = LabMachine::beside(&self.machine, RootFileSystem::Own);
        beside.ask(&format!("{}wait", addresses.iter().map(ping).collect::<String>()))
    }

    /// The routes that the daemon installed in the kernel.
    pub fn ways(&self) -> BTreeMap<String, Way> {
        let way = |(net, ways): (String, String)| {
            let source = ways.split_once(" src ").and_then(|(_, rest)| rest.split(' ').next());
            (net, (source.unwrap_or_default().to_owned(), next_hops(&ways)))
        };
        learnt(&self.machine, None).into_iter().map(way).collect()
    }

    /// Routes of the VRF's table that do not lead to the speaker.
    pub fn ways_out_of_the_vrf(&self) -> String {
        let workload = self.model.workload.as_ref().unwrap();
        let vrf = workload.domain.name().unwrap();
        let within = [
            format!("dev {} ", workload.ours.link),
            format!("dev {vrf} "),
            "unreachable default ".to_owned(),
        ];
        let routes =
            self.machine.ask(&format!("ip -o -4 route show vrf {vrf}; ip -o -6 route show vrf {vrf}"));
        assert_eq!(routes.matches("unreachable default ").count(), 2, "{routes}");
        routes.lines().filter(|line| !within.iter().any(|part| line.contains(part))).collect()
    }

    /// Details for the report of a timeout.
    pub fn state(&self) -> String {
        let output = self.machine.run(
            "ip -br address; ip route; ip -6 route; vtysh -c 'show bgp vrf all summary'; birdc show protocols all; \
             tail -n 20 /tmp/log-of-start",
        );
        format!("{}:\n{}", self.model.name, String::from_utf8_lossy(&output.stdout))
    }
}

//! A node as the agent would make it: its links, in the order that never flaps, and its daemon.

use std::collections::BTreeMap;

use ichor_core::cluster::section::Backend;
use ichor_core::plan::NodePlan;
use ichor_core::render::routing::Service;
use ichor_core::routing::{Domain, Model};

use crate::common::frr::Frr;
use crate::common::lab::{Machine, Root, said};

/// The metric of the route that ends every search in a VRF's table: the lowest priority there is.
const LAST: u32 = 4_278_198_272;

/// A link such as kube-proxy's, which has service addresses while nobody announces the link.
const PROXY: &str = "kube-ipvs0";

pub struct Node {
    pub machine: Machine,
    pub model: Model,
    service: Service,
    backend: Backend,
    root: Root,
}

impl Node {
    /// A node with its links, all but the ports.
    pub fn new(plan: &NodePlan, model: Model, service: Service, root: Root) -> Self {
        let backend = plan.routing.as_deref().unwrap().backend.value;
        let machine = Machine::new(root);
        machine.ask(
            "install -d -o frr -g frr /run/frr && install -d /run/bird && touch /etc/frr/vtysh.conf\n\
             echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
        );
        let node = Self { machine, model, service, backend, root };
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
        let Domain::Vrf { name, table } = &workload.domain else { panic!("{:?}", workload.domain) };
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

    /// Starts the daemon, which finds everything in its place.
    pub fn start(&self) {
        let conf = &self.service.files[0].text;
        if self.backend == Backend::Bird {
            self.machine.write("/tmp/bird.conf", conf);
            self.machine.start("bird -f -c /tmp/bird.conf -s /run/bird/bird.ctl", "/run/bird/bird.ctl");
            return;
        }
        let frr = if self.root == Root::Own { Frr::V8 } else { Frr::V10 };
        frr.start(&self.machine, Some(&self.service.files[1].text));
        let loaded = Frr::load(&self.machine, conf);
        assert!(loaded.status.success(), "{}\n{conf}", said(&loaded));
    }

    /// Gives the node a service address, as kube-proxy would.
    pub fn serve(&self, address: &str) {
        self.machine.ask(&format!("ip address add {address} dev {PROXY}"));
    }

    /// Whether an address answers what comes from this node.
    pub fn reaches(&self, address: &str) -> bool {
        let beside = Machine::beside(&self.machine, Root::Own);
        let family = if address.contains(':') { "-6" } else { "-4" };
        beside.run(&format!("busybox ping {family} -c 3 -W 5 {address}")).status.success()
    }

    /// What the kernel got from the daemon: each prefix, and the ways to it.
    pub fn learnt(&self) -> BTreeMap<String, String> {
        let of = |family: &str, all: &'static str, length: &'static str| {
            let said = self.machine.ask(&format!("ip -o {family} route show"));
            let learnt = said.lines().filter(|line| line.contains(" proto b"));
            let pair = |line: &str| {
                let (net, ways) = line.split_once(' ').unwrap();
                let whole = || if net.contains('/') { net.to_owned() } else { format!("{net}{length}") };
                (if net == "default" { all.to_owned() } else { whole() }, ways.to_owned())
            };
            learnt.map(pair).collect::<Vec<_>>()
        };
        of("-4", "0.0.0.0/0", "/32").into_iter().chain(of("-6", "::/0", "/128")).collect()
    }

    /// Routes of the VRF's table that lead elsewhere than to the speaker.
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

    /// What can be said when something never comes.
    pub fn state(&self) -> String {
        let said = self.machine.run(
            "ip -br address; ip route; ip -6 route; vtysh -c 'show bgp vrf all summary'; birdc show protocols all; \
             tail -n 20 /tmp/log-of-start",
        );
        format!("{}:\n{}", self.model.name, String::from_utf8_lossy(&said.stdout))
    }
}

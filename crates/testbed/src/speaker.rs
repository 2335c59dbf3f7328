//! A BGP speaker that dials its node as MetalLB and Cilium do, announces the prefixes of the test, and accepts every route: gobgpd.

use ichor_bgp::model::{BgpModel, Family};

use crate::lab::{LabMachine, RootFileSystem, output_text, wait_for};

/// The client of gobgpd.
const ASK: &str = "gobgp --target unix:///run/speaker.sock";

pub struct BgpSpeaker {
    machine: LabMachine,
    node: String,
}

impl BgpSpeaker {
    /// A speaker beside the node, with a session.
    pub fn new(node: &LabMachine, model: &BgpModel) -> Self {
        let machine = LabMachine::beside(node, RootFileSystem::Trixie);
        machine.write("/tmp/speaker.toml", &conf(model));
        machine.start(
            "gobgpd -f /tmp/speaker.toml --api-hosts unix:///run/speaker.sock --pprof-disable",
            "/run/speaker.sock",
        );
        let speaker = Self { machine, node: model.workload.as_ref().unwrap().ours.address.to_string() };
        let log = || speaker.machine.ask("cat /tmp/log-of-start");
        wait_for("the speaker's session", || speaker.neighbor().contains("BGP state = ESTABLISHED"), log);
        speaker
    }

    fn neighbor(&self) -> String {
        output_text(&self.machine.run(&format!("{ASK} neighbor {}", self.node)))
    }

    /// Announces these in sequence. gobgp waits a second for an answer, which is too short where all is emulated.
    pub fn announce(&self, nets: &[&str]) {
        let family = |net: &str| if net.contains(':') { "ipv6" } else { "ipv4" };
        let add =
            |net: &&str| format!("until {ASK} global rib add -a {} {net}; do sleep 1; done\n", family(net));
        self.machine.ask(&nets.iter().map(add).collect::<String>());
    }

    /// The routes received from the node, once the session is established.
    pub fn received_routes(&self) -> String {
        let neighbor = self.neighbor();
        if !neighbor.contains("BGP state = ESTABLISHED") {
            return neighbor;
        }
        let of = |family| format!("{ASK} -j neighbor {} adj-in -a {family}", self.node);
        output_text(&self.machine.run(&format!("{} && {}", of("ipv4"), of("ipv6")))).trim().to_owned()
    }
}

fn conf(model: &BgpModel) -> String {
    let workload = model.workload.as_ref().unwrap();
    let (ours, theirs) = (&workload.ours, &workload.theirs);
    let mut text = format!(
        "[global.config]\nas = {}\nrouter-id = \"{}\"\nport = -1\n[[neighbors]]\n[neighbors.config]\n\
         neighbor-address = \"{}\"\npeer-as = {}\n[neighbors.transport.config]\nlocal-address = \"{}\"\n\
         [neighbors.timers.config]\nconnect-retry = 1\n",
        theirs.asn, model.router_id, ours.address, ours.asn, theirs.address
    );
    for family in &workload.families {
        let name = if *family == Family::V4 { "ipv4" } else { "ipv6" };
        text += &format!(
            "[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = \"{name}-unicast\"\n"
        );
    }
    text
}

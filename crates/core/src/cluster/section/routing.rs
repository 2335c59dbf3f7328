//! `routing`: BGP on the nodes.

use std::net::{IpAddr, Ipv4Addr};

pub use ichor_bgp::setting::{Advertise, Carrier, Isolation, LogLevel, MetallbMode, Speaker};
pub use ichor_values::Backend;
use ichor_values::ValueError;
use ichor_values::key::{List, Map, Over};
use ichor_values::read::{Form, Scalar};
use ichor_values::record;
use ichor_values::{
    Asn, Community, FilePath, HostPort, LinkName, Mtu, Pair, Prefix, Secret, SoftwareVersion, Text, Toggle,
    Word,
};

record! {
    /// BGP on the nodes.
    Routing "routing settings" {
        /// Who speaks BGP on the node.
        backend: Backend = "the first of native, frr that can do all this file asks", "frr";
        /// What brings it onto the node.
        carrier: Carrier = "ichor", "ichor";
        /// Release of the daemon.
        version: SoftwareVersion = "the one in the extension", "10.3";
        /// Name of the extension service.
        service: Word = "that of the extension: frr, bird, gobgp; bird2 for Talos' own", "frr";
        /// On a node its AS number; elsewhere a base, to which the index is added.
        asn: Asn = "4210000000 + id·1000 + index", "4210101000";
        /// On a node its router id; elsewhere a base, to which the index is added, or `loopback`.
        router_id: RouterId = "10.255.ID.INDEX", "10.255.101.0";
        /// Which addresses of the node are announced.
        advertise: List<Advertise> = "[loopback, dummy, anycast]", "[loopback]";
        /// Prefixes announced in place of their parts.
        aggregates: List<Prefix> = "none", "[10.101.254.0/24]";
        /// Whom the node peers with.
        neighbors: List<Neighbor> = "none", "[{router: leaf1, link: fab0}]";
        /// What is let in and out.
        policy: Policy = "everything in, the node's own out", "{in: {max_prefixes: 1000}}";
        /// Keeping routes through a planned restart.
        graceful_restart: Toggle<GracefulRestart> = "on, 30 s", "{time: 30}";
        /// The speaker of Kubernetes' service addresses.
        workload: Workload = "none", "{speaker: metallb}";
        /// A template of one's own, by backend.
        template: Map<Backend, FilePath> = "none", "{frr: my-frr.conf.j2}";
        /// More options, by daemon.
        daemons: Map<Word, List<Text>> = "none", "{zebra: [\"-s\", \"16777216\"]}";
        /// The agent on the node.
        agent: Agent = "log info, no status port", "{log: info}";
    }
}

/// A router id, a base for router ids, or the IPv4 loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouterId {
    /// The IPv4 loopback address.
    Loopback,
    /// The id itself on a node; elsewhere a base.
    Address(Ipv4Addr),
}

impl Scalar for RouterId {
    fn parse(text: &str) -> Result<Self, ValueError> {
        if text == "loopback" {
            return Ok(Self::Loopback);
        }
        text.parse().map(Self::Address).map_err(|_| ValueError::new("not a router id"))
    }

    fn form() -> Form {
        Form {
            name: "router id",
            want: "an address such as 10.255.101.0, or loopback",
            schema: serde_json::json!({"type": "string"}),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Loopback => "loopback".to_owned(),
            Self::Address(address) => address.to_string(),
        }
    }
}

impl Over for RouterId {}

record! {
    /// One neighbour: a router of the fabric, on a link (unnumbered) or at an address.
    Neighbor "a neighbour" {
        /// Router of the fabric.
        router: Word = "none: address and asn say all", "leaf1";
        /// Link it is found on, without an address.
        link: LinkName = "none: numbered", "fab0";
        /// Its address.
        address: IpAddr = "the router's, unless there is a link", "\"fd00:101::fffe\"";
        /// Its AS number.
        asn: Asn = "the router's", "4200001000";
        /// Password of the session.
        password: Secret = "the router's", "{env: BGP_PW}";
        /// Fast detection of a dead path.
        bfd: Toggle<Bfd> = "true when unnumbered, else false", "{interval: 300, multiplier: 3}";
        /// Keepalive and hold time in seconds.
        timers: Pair<u16> = "[3, 9]", "[1, 3]";
        /// Whether to wait for the neighbour to connect.
        passive: bool = "false", "false";
    }
}

record! {
    /// Fast detection of a dead path.
    Bfd "BFD settings" {
        /// Milliseconds between two packets.
        interval: u32 = "300", "300";
        /// How many may be lost.
        multiplier: u8 = "3", "3";
    }
}

record! {
    /// What is let in and out.
    Policy "policies for in and out" {
        /// Routes from the fabric.
        r#in: PolicyIn = "everything", "{allow: [0.0.0.0/0], max_prefixes: 1000}";
        /// Routes to the fabric.
        out: PolicyOut = "the node's own and the speaker's", "{communities: [65000:1]}";
    }
}

record! {
    /// Routes from the fabric.
    PolicyIn "a policy" {
        /// Prefixes that are let in, and all within them.
        allow: List<Prefix> = "everything", "[0.0.0.0/0, \"::/0\"]";
        /// More routes than this close the session.
        max_prefixes: u32 = "none", "1000";
        /// Local preference of what is let in.
        local_preference: u32 = "100", "100";
    }
}

record! {
    /// Routes to the fabric.
    PolicyOut "a policy" {
        /// Communities that are added.
        communities: List<Community> = "none", "[65000:1]";
        /// How often the own AS number is put in front once more.
        prepend: u8 = "0", "0";
    }
}

record! {
    /// Keeping routes through a planned restart.
    GracefulRestart "graceful restart settings" {
        /// Seconds the neighbours wait.
        time: u16 = "30", "30";
    }
}

record! {
    /// The speaker of Kubernetes' service addresses and the link to it.
    Workload "a speaker" {
        /// Who announces service addresses.
        speaker: Speaker = "required", "metallb";
        /// Settings of MetalLB.
        metallb: Metallb = "none", "{mode: frr-k8s}";
        /// What keeps its routes apart from the node's.
        isolation: Isolation = "vrf; none with GoBGP", "vrf";
        /// The VRF.
        vrf: Vrf = "metallb, table 88; Cilium: cilium, table 89", "{name: metallb, table: 88}";
        /// Name of the network namespace.
        namespace: Word = "metallb", "metallb";
        /// The link between node and speaker.
        link: WorkloadLink = "MetalLB: fda1:b2c3:d4e5:1::/127; Cilium: fd00:ID:cc::/127; namespace: 192.168.250.254/31", "{ours: \"fda1:b2c3:d4e5:1::\", theirs: \"fda1:b2c3:d4e5:1::1\", prefix: 127}";
        /// AS numbers of the session.
        asn: WorkloadAsn = "MetalLB in a VRF: 4000099998 and 4000099999, else 4200099998 and 4200099999", "{ours: 4000099998, theirs: 4000099999}";
        /// BFD with the speaker.
        bfd: Toggle<Bfd> = "false", "false";
        /// Prefixes taken from the speaker; empty: host routes of the pools for MetalLB, everything for Cilium.
        allow: List<Prefix> = "[]", "[10.101.250.0/24]";
    }
}

record! {
    /// Settings of MetalLB.
    Metallb "settings of MetalLB" {
        /// How MetalLB speaks BGP.
        mode: MetallbMode = "frr-k8s", "frr-k8s";
    }
}

record! {
    /// A VRF.
    Vrf "a VRF" {
        /// Its name.
        name: LinkName = "metallb or cilium", "metallb";
        /// Its routing table.
        table: u32 = "88 or 89", "88";
    }
}

record! {
    /// The link between node and speaker.
    WorkloadLink "a link" {
        /// The routing daemon's address.
        ours: IpAddr = "by speaker and isolation", "\"fda1:b2c3:d4e5:1::\"";
        /// The speaker's address.
        theirs: IpAddr = "by speaker and isolation", "\"fda1:b2c3:d4e5:1::1\"";
        /// Prefix length.
        prefix: u8 = "127 for IPv6, 31 for IPv4", "127";
        /// Names of the two ends.
        names: WorkloadNames = "frr-metallb and metallb-frr; veth-frr and veth-cilium; veth-a and veth-b", "{ours: frr-metallb, theirs: metallb-frr}";
        /// MTU of the link.
        mtu: Mtu = "the first fabric port's; namespace: 1500", "1500";
    }
}

record! {
    /// Names of the two ends of the link to the speaker.
    WorkloadNames "two link names" {
        /// The routing daemon's end.
        ours: LinkName = "by speaker and isolation", "frr-metallb";
        /// The speaker's end.
        theirs: LinkName = "by speaker and isolation", "metallb-frr";
    }
}

record! {
    /// AS numbers of the session with the speaker.
    WorkloadAsn "two AS numbers" {
        /// The routing daemon's.
        ours: Asn = "by speaker and isolation", "4000099998";
        /// The speaker's.
        theirs: Asn = "by speaker and isolation", "4000099999";
    }
}

record! {
    /// The agent on the node.
    Agent "settings of the agent" {
        /// How much it says.
        log: LogLevel = "info", "info";
        /// Its state over mutual TLS.
        status: AgentStatus = "not served", "{listen: node:9179}";
    }
}

record! {
    /// The agent's state over mutual TLS.
    AgentStatus "an address" {
        /// Where to listen; `node` is the node's address.
        listen: HostPort = "required", "node:9179";
    }
}

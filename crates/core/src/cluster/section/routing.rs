//! `routing`: BGP on the nodes.

use std::net::{IpAddr, Ipv4Addr};

pub use ichor_bgp::setting::{Advertise, Carrier, Isolation, LogLevel, MetallbMode, Speaker};
pub use ichor_values::Backend;
use ichor_values::ValueError;
use ichor_values::key::{List, Map, MergeOver};
use ichor_values::read::{Scalar, ScalarForm};
use ichor_values::record;
use ichor_values::{
    Asn, Community, FilePath, HostPort, LinkName, Mtu, Pair, Prefix, Secret, SoftwareVersion, Text, Toggle,
    Word,
};

record! {
    /// BGP on the nodes.
    Routing "routing settings" {
        /// BGP implementation on the node.
        backend: Backend = "native if it supports everything in the file, else frr", "frr";
        /// Provider of the routing extension.
        carrier: Carrier = "ichor", "ichor";
        /// Release of the daemon.
        version: SoftwareVersion = "the one in the extension", "10.3";
        /// Name of the extension service.
        service: Word = "by extension: frr, bird, gobgp; bird2 for the official one", "frr";
        /// On a node, its AS number; in other layers a base, to which the index is added.
        asn: Asn = "4210000000 + id·1000 + index", "4210101000";
        /// On a node, its router ID; in other layers a base, to which the index is added, or `loopback`.
        router_id: RouterId = "10.255.ID.INDEX", "10.255.101.0";
        /// Kinds of node addresses to announce.
        advertise: List<Advertise> = "[loopback, dummy, anycast]", "[loopback]";
        /// Aggregates, announced instead of their more specific prefixes.
        aggregates: List<Prefix> = "none", "[10.101.254.0/24]";
        /// BGP neighbours of the node.
        neighbors: List<Neighbor> = "none", "[{router: leaf1, link: fab0}]";
        /// Import and export policy.
        policy: Policy = "import everything, export the node's own", "{in: {max_prefixes: 1000}}";
        /// Graceful restart, which keeps routes during a planned restart.
        graceful_restart: Toggle<GracefulRestart> = "on, 30 s", "{time: 30}";
        /// Speaker of Kubernetes service addresses.
        workload: Workload = "not set", "{speaker: metallb}";
        /// Custom templates by backend.
        template: Map<Backend, FilePath> = "none", "{frr: my-frr.conf.j2}";
        /// Additional options by daemon.
        daemons: Map<Word, List<Text>> = "none", "{zebra: [\"-s\", \"16777216\"]}";
        /// The agent on the node.
        agent: Agent = "log info, no status port", "{log: info}";
    }
}

/// A router ID, a base for router IDs, or the IPv4 loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouterId {
    /// The IPv4 loopback address.
    Loopback,
    /// On a node, its router ID; in other layers a base.
    Address(Ipv4Addr),
}

impl Scalar for RouterId {
    fn parse(text: &str) -> Result<Self, ValueError> {
        if text == "loopback" {
            return Ok(Self::Loopback);
        }
        text.parse().map(Self::Address).map_err(|_| ValueError::new("not a router ID"))
    }

    fn form() -> ScalarForm {
        ScalarForm {
            name: "router ID",
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

impl MergeOver for RouterId {}

record! {
    /// A BGP neighbour: a router of the fabric, unnumbered on a link or at an address.
    Neighbor "a neighbour" {
        /// Router of the fabric.
        router: Word = "not set: `address` and `asn` identify it", "leaf1";
        /// Link of an unnumbered session.
        link: LinkName = "not set: numbered", "fab0";
        /// Address of the neighbour.
        address: IpAddr = "the router's, unless there is a link", "\"fd00:101::fffe\"";
        /// AS number of the neighbour.
        asn: Asn = "the router's", "4200001000";
        /// Password of the session.
        password: Secret = "the router's", "{env: BGP_PW}";
        /// BFD.
        bfd: Toggle<Bfd> = "true when unnumbered, else false", "{interval: 300, multiplier: 3}";
        /// Keepalive and hold time in seconds.
        timers: Pair<u16> = "[3, 9]", "[1, 3]";
        /// Whether to wait for the neighbour to connect.
        passive: bool = "false", "false";
    }
}

record! {
    /// BFD timers.
    Bfd "BFD settings" {
        /// Interval between two packets in milliseconds.
        interval: u32 = "300", "300";
        /// Number of lost packets after which the session is down.
        multiplier: u8 = "3", "3";
    }
}

record! {
    /// Import and export policy.
    Policy "import and export policies" {
        /// Import policy: routes from the fabric.
        r#in: PolicyIn = "everything", "{allow: [0.0.0.0/0], max_prefixes: 1000}";
        /// Export policy: routes to the fabric.
        out: PolicyOut = "the node's own and the speaker's", "{communities: [65000:1]}";
    }
}

record! {
    /// Import policy: routes from the fabric.
    PolicyIn "an import policy" {
        /// Prefixes to accept, including more specific ones.
        allow: List<Prefix> = "everything", "[0.0.0.0/0, \"::/0\"]";
        /// Prefix limit, above which the session is closed.
        max_prefixes: u32 = "not set", "1000";
        /// Local preference of accepted routes.
        local_preference: u32 = "100", "100";
    }
}

record! {
    /// Export policy: routes to the fabric.
    PolicyOut "an export policy" {
        /// Communities to add.
        communities: List<Community> = "none", "[65000:1]";
        /// Number of times that the own AS number is prepended.
        prepend: u8 = "0", "0";
    }
}

record! {
    /// Graceful restart, which keeps routes during a planned restart.
    GracefulRestart "graceful restart settings" {
        /// Restart time in seconds, for which neighbours keep the routes.
        time: u16 = "30", "30";
    }
}

record! {
    /// The speaker of Kubernetes service addresses and the link to it.
    Workload "a speaker" {
        /// Software that announces service addresses.
        speaker: Speaker = "required", "metallb";
        /// Settings of MetalLB.
        metallb: Metallb = "not set", "{mode: frr-k8s}";
        /// Isolation of its routes from the node's.
        isolation: Isolation = "vrf; none with GoBGP", "vrf";
        /// VRF.
        vrf: Vrf = "metallb, table 88; Cilium: cilium, table 89", "{name: metallb, table: 88}";
        /// Name of the network namespace.
        namespace: Word = "metallb", "metallb";
        /// The link between node and speaker.
        link: WorkloadLink = "MetalLB: fda1:b2c3:d4e5:1::/127; Cilium: fd00:ID:cc::/127; namespace: 192.168.250.254/31", "{ours: \"fda1:b2c3:d4e5:1::\", theirs: \"fda1:b2c3:d4e5:1::1\", prefix: 127}";
        /// AS numbers of the session.
        asn: WorkloadAsn = "MetalLB in a VRF: 4000099998 and 4000099999, else 4200099998 and 4200099999", "{ours: 4000099998, theirs: 4000099999}";
        /// BFD with the speaker.
        bfd: Toggle<Bfd> = "false", "false";
        /// Prefixes accepted from the speaker; if empty, host routes of the pools for MetalLB, everything for Cilium.
        allow: List<Prefix> = "[]", "[10.101.250.0/24]";
    }
}

record! {
    /// Settings of MetalLB.
    Metallb "settings of MetalLB" {
        /// BGP implementation of MetalLB.
        mode: MetallbMode = "frr-k8s", "frr-k8s";
        /// Release of MetalLB; only `ichor check` uses it.
        version: SoftwareVersion = "not set", "0.16.1";
    }
}

record! {
    /// A VRF.
    Vrf "a VRF" {
        /// Name of the VRF.
        name: LinkName = "metallb or cilium", "metallb";
        /// Routing table of the VRF.
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
        /// Log level.
        log: LogLevel = "info", "info";
        /// Status server with mutual TLS.
        status: AgentStatus = "not served", "{listen: node:9179}";
    }
}

record! {
    /// Status server of the agent, with mutual TLS.
    AgentStatus "an address" {
        /// Listen address; `node` is the node's address.
        listen: HostPort = "required", "node:9179";
    }
}

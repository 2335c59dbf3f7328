//! Words of the cluster file that the routing model shares with it.

use ichor_values::choice;

choice! {
    /// What brings the backend onto the node.
    Carrier "carrier" {
        /// ichor's extension, with the agent.
        Ichor = "ichor",
        /// Talos' official extension, without it.
        Official = "official",
    }
}

choice! {
    /// Addresses of a node that can be announced.
    Advertise "kind of address" {
        /// The loopback addresses.
        Loopback = "loopback",
        /// The addresses of dummy links.
        Dummy = "dummy",
        /// The anycast addresses of the API.
        Anycast = "anycast",
    }
}

choice! {
    /// Who announces service addresses.
    Speaker "speaker" {
        /// MetalLB.
        Metallb = "metallb",
        /// Cilium.
        Cilium = "cilium",
        /// Nobody.
        None = "none",
    }
}

choice! {
    /// How MetalLB speaks BGP.
    MetallbMode "MetalLB mode" {
        /// By FRR-K8s.
        FrrK8s = "frr-k8s",
        /// By an FRR of its own.
        Frr = "frr",
        /// By itself: IPv4 only.
        Native = "native",
    }
}

choice! {
    /// What keeps the speaker's routes apart from the node's.
    Isolation "isolation" {
        /// A VRF.
        Vrf = "vrf",
        /// A network namespace.
        Netns = "netns",
        /// Nothing.
        None = "none",
    }
}

choice! {
    /// How much the agent says.
    LogLevel "log level" {
        /// Only what failed.
        Error = "error",
        /// And what may fail.
        Warn = "warn",
        /// And what changed.
        Info = "info",
        /// And why.
        Debug = "debug",
    }
}

choice! {
    /// What a router is in the fabric.
    RouterRole "router role" {
        /// A switch the nodes are connected to.
        Leaf = "leaf",
        /// A switch the leafs are connected to.
        Spine = "spine",
        /// A router the nodes peer with across a network.
        Gateway = "gateway",
    }
}

choice! {
    /// What a router runs.
    Software "router software" {
        /// FRRouting, also in Proxmox SDN and many switches.
        Frr = "frr",
        /// MikroTik RouterOS.
        Routeros = "routeros",
        /// Something ichor does not write for.
        Other = "other",
    }
}

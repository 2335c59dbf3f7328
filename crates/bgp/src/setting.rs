//! Settings of the cluster file that the routing model shares with it.

use ichor_values::choice;

choice! {
    /// The extension that brings the backend onto the node.
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
    /// The load balancer that announces service addresses.
    Speaker "speaker" {
        /// MetalLB.
        Metallb = "metallb",
        /// Cilium.
        Cilium = "cilium",
        /// No load balancer.
        None = "none",
    }
}

choice! {
    /// How MetalLB speaks BGP.
    MetallbMode "MetalLB mode" {
        /// FRR-K8s.
        FrrK8s = "frr-k8s",
        /// An FRR of its own.
        Frr = "frr",
        /// MetalLB's own BGP implementation: IPv4 only.
        Native = "native",
    }
}

choice! {
    /// What isolates the load balancer's routes from the node's.
    Isolation "isolation" {
        /// A VRF.
        Vrf = "vrf",
        /// A network namespace.
        Netns = "netns",
        /// No isolation.
        None = "none",
    }
}

choice! {
    /// The log level of the agent.
    LogLevel "log level" {
        /// Errors.
        Error = "error",
        /// Errors and warnings.
        Warn = "warn",
        /// Changes of state as well.
        Info = "info",
        /// Reasons as well.
        Debug = "debug",
    }
}

choice! {
    /// The role of a router in the fabric.
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
    /// The software of a router.
    Software "router software" {
        /// FRRouting, which Proxmox SDN and many switches run.
        Frr = "frr",
        /// MikroTik RouterOS.
        Routeros = "routeros",
        /// Other software, for which ichor writes no configuration.
        Other = "other",
    }
}

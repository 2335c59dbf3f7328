//! Contexts: the lines that open one, and where a line stands that follows them.
//!
//! FRR looks for a command in the context it is in, and then in those above it. A file therefore may leave `exit` out, and
//! may say in `router bgp` itself what belongs to its IPv4 family.

/// What a context is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// `interface NAME`.
    Interface,
    /// `vrf NAME`.
    Vrf,
    /// `route-map NAME permit|deny NUMBER`.
    RouteMap,
    /// `router bgp ASN`, with `vrf NAME` or without.
    Bgp,
    /// `address-family …`, in an instance of BGP.
    Family,
    /// `bfd`.
    Bfd,
    /// `profile NAME`, in `bfd`.
    Profile,
    /// `peer …`, in `bfd`.
    Peer,
    /// Any other: `key chain NAME`, a key in one, another protocol.
    Other,
}

/// First words of lines that are in no context, wherever they are met.
const TOP: [&str; 28] = [
    "access-list",
    "bfd",
    "bgp as-path",
    "bgp community-list",
    "bgp extcommunity-list",
    "bgp large-community-list",
    "bgp route-map",
    "debug",
    "frr",
    "hostname",
    "interface",
    "ip forwarding",
    "ip nht",
    "ip prefix-list",
    "ip protocol",
    "ip route",
    "ipv6 access-list",
    "ipv6 forwarding",
    "ipv6 nht",
    "ipv6 prefix-list",
    "ipv6 protocol",
    "ipv6 route",
    "key chain",
    "log",
    "route-map",
    "router",
    "service",
    "vrf",
];

/// Of these, what a VRF may have for itself.
const OF_VRF: [&str; 6] = ["ip nht", "ip protocol", "ip route", "ipv6 nht", "ipv6 protocol", "ipv6 route"];

/// What a neighbour is told in a family; all else it is told in the instance.
pub(crate) const OF_FAMILY: [&str; 22] = [
    "activate",
    "addpath-tx-all-paths",
    "addpath-tx-bestpath-per-AS",
    "allowas-in",
    "as-override",
    "attribute-unchanged",
    "default-originate",
    "distribute-list",
    "filter-list",
    "maximum-prefix",
    "maximum-prefix-out",
    "next-hop-self",
    "prefix-list",
    "remove-private-AS",
    "route-map",
    "route-reflector-client",
    "route-server-client",
    "send-community",
    "soft-reconfiguration",
    "soo",
    "unsuppress-map",
    "weight",
];

/// What an instance is told in a family, besides its neighbours.
const INSTANCE_OF_FAMILY: [&str; 6] =
    ["aggregate-address", "distance", "maximum-paths", "network", "redistribute", "table-map"];

/// What belongs to an instance although it starts as a line of a family would.
const OF_INSTANCE: [&str; 4] = ["address-family", "bgp", "coalesce-time", "timers"];

/// The context that a line opens below others.
pub(crate) fn opened(above: &[String], line: &str) -> Option<Context> {
    let words: Vec<_> = line.split(' ').collect();
    match (above.last().map(|last| context(&above[..above.len() - 1], last)), words.as_slice()) {
        (None, ["interface", _, ..]) => Some(Context::Interface),
        (None, ["vrf", _]) => Some(Context::Vrf),
        (None, ["route-map", _, "permit" | "deny", _]) => Some(Context::RouteMap),
        (None, ["router", "bgp", ..]) => Some(Context::Bgp),
        (None, ["bfd"]) => Some(Context::Bfd),
        (Some(Context::Bgp), ["address-family", ..]) => Some(Context::Family),
        (Some(Context::Bfd), ["profile", _]) => Some(Context::Profile),
        (Some(Context::Bfd), ["peer", _, ..]) => Some(Context::Peer),
        (None, ["router" | "key" | "pseudowire" | "segment-routing" | "rpki" | "l2vpn", ..])
        | (Some(Context::Other), ["key", _])
        | (Some(Context::Family), ["vni", _]) => Some(Context::Other),
        _ => None,
    }
}

/// The same of a line that is known to open one.
pub(crate) fn context(above: &[String], line: &str) -> Context {
    opened(above, line).unwrap_or(Context::Other)
}

/// The context that a line is in, given those that are open when it is met: how many of them remain.
pub(crate) fn remaining(open: &[String], line: &str) -> usize {
    let said = line.strip_prefix("no ").unwrap_or(line);
    let Some((last, above)) = open.split_last() else { return 0 };
    let inner = context(above, last);
    if stays(inner, said) { open.len() } else { remaining(above, line) }
}

fn stays(inner: Context, said: &str) -> bool {
    let top = TOP.iter().any(|start| starts(said, start));
    match inner {
        Context::Vrf => !top || OF_VRF.iter().any(|start| starts(said, start)),
        Context::Family => !top && !of_instance(said),
        Context::Bgp => !top && !starts(said, "ip") && !starts(said, "ipv6"),
        Context::Profile => !top && !starts(said, "peer") && !starts(said, "profile"),
        Context::Peer => !top && !starts(said, "peer"),
        Context::Interface | Context::RouteMap | Context::Bfd | Context::Other => !top,
    }
}

/// Whether a line belongs to the instance, not to one of its families.
fn of_instance(said: &str) -> bool {
    match said.split(' ').collect::<Vec<_>>().as_slice() {
        ["neighbor", _, "capability", "orf", ..] | ["bgp", "dampening", ..] => false,
        ["neighbor", _, word, ..] => !OF_FAMILY.contains(word),
        [word, ..] => OF_INSTANCE.contains(word),
        [] => false,
    }
}

/// Whether an instance is told this for its IPv4 family.
pub(crate) fn of_first_family(line: &str) -> bool {
    let said = line.strip_prefix("no ").unwrap_or(line);
    match said.split(' ').collect::<Vec<_>>().as_slice() {
        ["neighbor", _, word, ..] => OF_FAMILY.contains(word),
        [word, ..] => INSTANCE_OF_FAMILY.contains(word),
        [] => false,
    }
}

/// Whether a line starts with these words.
pub(crate) fn starts(line: &str, words: &str) -> bool {
    line.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

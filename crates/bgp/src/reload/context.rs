//! Contexts: the lines that open one, and the context of the lines that follow.
//!
//! FRR looks up a command in its current context, and then in the enclosing ones. A file may therefore omit `exit`, and
//! may put settings of the IPv4 family directly into `router bgp`.

/// The type of a context.
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

/// First words of lines that are always at the top level.
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

/// Those of them that a VRF may also have.
const VRF_STATEMENTS: [&str; 6] =
    ["ip nht", "ip protocol", "ip route", "ipv6 nht", "ipv6 protocol", "ipv6 route"];

/// Settings of a neighbour in an address family; all others belong to the instance.
pub(crate) const FAMILY_SETTINGS: [&str; 22] = [
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

/// Settings of an instance in an address family, besides those of its neighbours.
const INSTANCE_FAMILY_SETTINGS: [&str; 6] =
    ["aggregate-address", "distance", "maximum-paths", "network", "redistribute", "table-map"];

/// Settings of an instance that start like those of an address family.
const INSTANCE_SETTINGS: [&str; 4] = ["address-family", "bgp", "coalesce-time", "timers"];

/// The context that a line opens below others.
pub(crate) fn opened_context(above: &[String], line: &str) -> Option<Context> {
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

/// The context of a line that is known to open one.
pub(crate) fn context(above: &[String], line: &str) -> Context {
    opened_context(above, line).unwrap_or(Context::Other)
}

/// How many of the open contexts remain open for a line.
pub(crate) fn remaining(open: &[String], line: &str) -> usize {
    let statement = line.strip_prefix("no ").unwrap_or(line);
    let Some((last, above)) = open.split_last() else { return 0 };
    let inner = context(above, last);
    if stays_open(inner, statement) { open.len() } else { remaining(above, line) }
}

fn stays_open(inner: Context, statement: &str) -> bool {
    let top = TOP.iter().any(|start| starts_with_words(statement, start));
    match inner {
        Context::Vrf => !top || VRF_STATEMENTS.iter().any(|start| starts_with_words(statement, start)),
        Context::Family => !top && !is_instance_line(statement),
        Context::Bgp => !top && !starts_with_words(statement, "ip") && !starts_with_words(statement, "ipv6"),
        Context::Profile => {
            !top && !starts_with_words(statement, "peer") && !starts_with_words(statement, "profile")
        }
        Context::Peer => !top && !starts_with_words(statement, "peer"),
        Context::Interface | Context::RouteMap | Context::Bfd | Context::Other => !top,
    }
}

/// Whether a line belongs to the instance, not to one of its families.
fn is_instance_line(statement: &str) -> bool {
    match statement.split(' ').collect::<Vec<_>>().as_slice() {
        ["neighbor", _, "capability", "orf", ..] | ["bgp", "dampening", ..] => false,
        ["neighbor", _, word, ..] => !FAMILY_SETTINGS.contains(word),
        [word, ..] => INSTANCE_SETTINGS.contains(word),
        [] => false,
    }
}

/// Whether a line in an instance belongs to its IPv4 family.
pub(crate) fn is_ipv4_family_line(line: &str) -> bool {
    let statement = line.strip_prefix("no ").unwrap_or(line);
    match statement.split(' ').collect::<Vec<_>>().as_slice() {
        ["neighbor", _, word, ..] => FAMILY_SETTINGS.contains(word),
        [word, ..] => INSTANCE_FAMILY_SETTINGS.contains(word),
        [] => false,
    }
}

/// Whether a line starts with these words.
pub(crate) fn starts_with_words(line: &str, words: &str) -> bool {
    line.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

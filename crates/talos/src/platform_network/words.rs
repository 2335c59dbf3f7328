//! The words of a network configuration, and their numbers.
//!
//! Not here: words that configurations have too and print the same ([`scalar`]).

use crate::types::scalar;

/// Words that Go knows by number.
#[derive(Debug)]
pub(super) struct Words {
    /// The type's name in Go.
    pub kind: &'static str,
    /// Numbers and their names.
    pub names: &'static [(u16, &'static str)],
}

impl Words {
    /// The word, in any case.
    pub(super) fn find(&self, text: &str) -> Option<&'static str> {
        let lower = text.to_lowercase();
        self.names.iter().map(|(_, name)| *name).find(|name| *name == text || name.to_lowercase() == lower)
    }

    /// The text for an unset value.
    pub(super) fn zero(&self) -> String {
        let name = self.names.iter().find(|(number, _)| *number == 0).map(|(_, name)| (*name).to_owned());
        name.unwrap_or_else(|| format!("{}(0)", self.kind))
    }
}

macro_rules! words {
    ($($name:ident $kind:literal [$($number:literal $word:literal),+ $(,)?];)+) => {
        $(pub(super) const $name: Words = Words { kind: $kind, names: &[$(($number, $word)),+] };)+
    };
}

words! {
    FAMILY "Family" [2 "inet4", 10 "inet6"];
    SCOPE "Scope" [0 "global", 200 "site", 253 "link", 254 "host", 255 "nowhere"];
    LAYER "ConfigLayer" [0 "default", 1 "cmdline", 2 "platform", 3 "operator", 4 "configuration"];
    OPERATOR "Operator" [0 "dhcp4", 1 "dhcp6", 2 "vip"];
    ROUTE_TYPE "RouteType" [
        0 "unspec", 1 "unicast", 2 "local", 3 "broadcast", 4 "anycast", 5 "multicast", 6 "blackhole", 7 "unreachable",
        8 "prohibit", 9 "throw", 10 "nat", 11 "xresolve",
    ];
    PROTOCOL "RouteProtocol" [
        0 "unspec", 1 "redirect", 2 "kernel", 3 "boot", 4 "static", 9 "ra", 10 "mrt", 11 "zebra", 12 "bird",
        13 "dnrouted", 14 "xorp", 15 "ntk", 16 "dhcp", 17 "mrtd", 18 "keepalived", 42 "babel", 99 "openr", 186 "bgp",
        187 "isis", 188 "ospf", 189 "rip", 192 "eigrp",
    ];
    BOND_MODE "BondMode" [
        0 "balance-rr", 1 "active-backup", 2 "balance-xor", 3 "broadcast", 4 "802.3ad", 5 "balance-tlb", 6 "balance-alb",
    ];
    HASH_POLICY "BondXmitHashPolicy" [0 "layer2", 1 "layer3+4", 2 "layer2+3", 3 "encap2+3", 4 "encap3+4"];
    LACP_RATE "LACPRate" [0 "slow", 1 "fast"];
    LACP_ACTIVE "ADLACPActive" [0 "off", 1 "on"];
    ARP_VALIDATE "ARPValidate" [
        0 "none", 1 "active", 2 "backup", 3 "all", 4 "filter", 5 "filter-active", 6 "filter-backup",
    ];
    ARP_TARGETS "ARPAllTargets" [0 "any", 1 "all"];
    RESELECT "PrimaryReselect" [0 "always", 1 "better", 2 "failure"];
    FAIL_OVER_MAC "FailOverMAC" [0 "none", 1 "active", 2 "follow"];
    SELECT "ADSelect" [0 "stable", 1 "bandwidth", 2 "count"];
    VLAN_PROTOCOL "VLANProtocol" [33024 "802.1q", 34984 "802.1ad"];
    CLIENT_ID "ClientIdentifier" [0 "none", 1 "mac", 2 "duid"];
    DNS_PROTOCOL "DNSProtocol" [0 "Do53", 1 "DoT", 2 "DoH"];
    LINK_TYPE "LinkType" [
        0 "netrom", 1 "ether", 2 "eether", 3 "ax25", 4 "pronet", 5 "chaos", 6 "ieee802", 7 "arcnet", 8 "atalk", 15 "dlci",
        19 "atm", 23 "metricom", 24 "ieee1394", 27 "eui64", 32 "infiniband", 256 "slip", 257 "cslip", 258 "slip6",
        259 "cslip6", 260 "rsrvd", 264 "adapt", 270 "rose", 271 "x25", 272 "hwx25", 280 "can", 512 "ppp", 513 "cisco",
        513 "hdlc", 516 "lapb", 517 "ddcmp", 518 "rawhdlc", 768 "ipip", 769 "tunnel6", 770 "frad", 771 "skip",
        772 "loopback", 773 "localtlk", 774 "fddi", 775 "bif", 776 "sit", 777 "ip/ddp", 778 "gre", 779 "pimreg",
        780 "hippi", 781 "ash", 782 "econet", 783 "irda", 784 "fcpp", 785 "fcal", 786 "fcpl", 787 "fcfb_0",
        788 "fcfb_1", 789 "fcfb_2", 790 "fcfb_3", 791 "fcfb_4", 792 "fcfb_5", 793 "fcfb_6", 794 "fcfb_7", 795 "fcfb_8",
        796 "fcfb_9", 797 "fcfb_10", 798 "fcfb_11", 799 "fcfb_12", 800 "tr", 801 "ieee802.11", 802 "ieee802.11_prism",
        803 "ieee802.11_radiotap", 804 "ieee802.15.4", 805 "ieee802.15.4_monitor", 820 "phonet", 821 "phonet_pipe",
        822 "caif", 823 "ip6gre", 824 "netlink", 825 "6lowpan", 65535 "void", 65534 "nohdr",
    ];
}

/// Flags of addresses, in the order of their bits.
pub(super) const ADDRESS_FLAGS: &[&str] = &[
    "temporary",
    "nodad",
    "optimistic",
    "dadfailed",
    "homeaddress",
    "deprecated",
    "tentative",
    "permanent",
    "mngmtmpaddr",
    "noprefixroute",
    "mcautojoin",
    "stableprivacy",
];

/// Flags of routes, in the order of their bits.
pub(super) const ROUTE_FLAGS: &[&str] =
    &["notify", "cloned", "equalize", "prefix", "lookup_table", "fib_match", "offload", "trap"];

/// Flags, separated by commas, as they are printed: each once, in the order of their bits.
pub(super) fn flags(text: &str, known: &[&str], may_be_empty: bool) -> Option<String> {
    if text.is_empty() && may_be_empty {
        return Some(String::new());
    }
    let named: Vec<String> = text.split(',').map(str::to_lowercase).collect();
    let all_known = named.iter().all(|flag| known.contains(&flag.as_str()));
    let set = known.iter().copied().filter(|flag| named.iter().any(|named| named == flag));
    all_known.then(|| set.collect::<Vec<_>>().join(","))
}

/// A routing table: by name, or from Talos 1.12 on by number.
pub(super) fn table(text: &str, by_number: bool) -> Option<String> {
    let table = scalar::routing_table(text)?;
    (by_number || !text.starts_with(|c: char| c.is_ascii_digit())).then_some(table)
}

/// By name in small letters, or by number as it was before 1.12.
pub(super) fn fail_over_mac(text: &str) -> Option<&'static str> {
    let names = FAIL_OVER_MAC.names;
    if text.is_empty() {
        return Some("none");
    }
    let by_name = names.iter().find(|(_, name)| *name == text);
    let by_number =
        || text.parse::<u16>().ok().and_then(|nth| names.iter().find(|(number, _)| *number == nth));
    by_name.or_else(by_number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_printed_once_in_their_order() {
        assert_eq!(
            flags("noprefixroute,Permanent,permanent", ADDRESS_FLAGS, false).unwrap(),
            "permanent,noprefixroute"
        );
        assert_eq!(flags("", ADDRESS_FLAGS, false), None);
        assert_eq!(flags("", ROUTE_FLAGS, true).unwrap(), "");
        assert_eq!(flags("a", ROUTE_FLAGS, true), None);
    }
}

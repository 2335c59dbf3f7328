//! The fields of a network configuration, by the release that first has each.

use super::words::{self, Words};

/// A field of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordField {
    pub name: &'static str,
    pub of: Of,
    /// Whether an empty value is omitted.
    pub(crate) omit: bool,
    /// The minor release that first has it.
    pub since: u16,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    Text,
    Flag,
    /// An integer in a range.
    Number(i128, i128),
    Duration,
    Word(&'static Words),
    FailOverMac,
    Table,
    /// Flags out of these, and whether none is fine.
    Flags(&'static [&'static str], bool),
    Address,
    Prefix,
    Mac,
    Record(&'static [RecordField]),
    List(&'static Of),
    /// Texts by names of their own.
    Texts,
    /// An optional value.
    Pointer(&'static Of),
}

impl Of {
    /// The expected value, for people.
    pub(super) fn name(self) -> String {
        match self {
            Of::Word(set) => format!("one of {}", list_words(set)),
            Of::FailOverMac => "one of none, active, follow".to_owned(),
            Of::Table => {
                "a routing table: main, default, local, or from Talos 1.12 on a number up to 252".to_owned()
            }
            Of::Flags(set, _) => format!("a list of {}", set.join(", ")),
            Of::Address => "an address".to_owned(),
            Of::Prefix => "an address with its prefix length".to_owned(),
            Of::Mac => "a hardware address".to_owned(),
            Of::Duration => "a length of time such as 5s".to_owned(),
            _ => "a value that Talos accepts".to_owned(),
        }
    }
}

fn list_words(set: &Words) -> String {
    set.names.iter().map(|(_, name)| *name).take(24).collect::<Vec<_>>().join(", ")
}

/// A field that is always printed, in every release.
const fn field(name: &'static str, of: Of) -> RecordField {
    RecordField { name, of, omit: false, since: 0 }
}

/// A field that is omitted if empty.
const fn omit(name: &'static str, of: Of) -> RecordField {
    RecordField { name, of, omit: true, since: 0 }
}

const fn since(minor: u16, field: RecordField) -> RecordField {
    RecordField { since: minor, ..field }
}

const U8: Of = Of::Number(0, 0xff);
const U16: Of = Of::Number(0, 0xffff);
const U32: Of = Of::Number(0, 0xffff_ffff);
const INT: Of = Of::Number(i64::MIN as i128, i64::MAX as i128);
const LAYER: RecordField = field("layer", Of::Word(&words::LAYER));

/// The root record.
pub(super) const NETWORK: &[RecordField] = &[
    field("addresses", Of::List(&Of::Record(ADDRESS))),
    field("links", Of::List(&Of::Record(LINK))),
    field("routes", Of::List(&Of::Record(ROUTE))),
    field("hostnames", Of::List(&Of::Record(HOSTNAME))),
    field("resolvers", Of::List(&Of::Record(RESOLVER))),
    field("timeServers", Of::List(&Of::Record(TIME_SERVER))),
    field("operators", Of::List(&Of::Record(OPERATOR))),
    field("externalIPs", Of::List(&Of::Address)),
    omit("probes", Of::List(&Of::Record(PROBE))),
    omit("metadata", Of::Pointer(&Of::Record(METADATA))),
];

const ADDRESS: &[RecordField] = &[
    field("address", Of::Prefix),
    field("linkName", Of::Text),
    field("family", Of::Word(&words::FAMILY)),
    field("scope", Of::Word(&words::SCOPE)),
    field("flags", Of::Flags(words::ADDRESS_FLAGS, false)),
    omit("announceWithARP", Of::Flag),
    omit("priority", U32),
    LAYER,
];

const LINK: &[RecordField] = &[
    field("name", Of::Text),
    field("logical", Of::Flag),
    field("up", Of::Flag),
    field("mtu", U32),
    field("kind", Of::Text),
    field("type", Of::Word(&words::LINK_TYPE)),
    since(12, omit("hardwareAddr", Of::Mac)),
    omit("parentName", Of::Text),
    omit("masterName", Of::Text),
    omit("slaveIndex", INT),
    omit("bridgeSlave", Of::Record(&[omit("masterName", Of::Text)])),
    since(13, omit("vrfSlave", Of::Record(&[omit("masterName", Of::Text)]))),
    omit("vlan", Of::Record(&[field("vlanID", U16), field("vlanProtocol", Of::Word(&words::VLAN_PROTOCOL))])),
    omit("bondMaster", Of::Record(BOND)),
    omit("bridgeMaster", Of::Record(BRIDGE)),
    since(13, omit("vrfMaster", Of::Record(&[field("table", Of::Table)]))),
    omit("wireguard", Of::Record(WIREGUARD)),
    since(14, omit("veth", Of::Record(&[omit("peerName", Of::Text)]))),
    LAYER,
    since(12, omit("multicast", Of::Pointer(&Of::Flag))),
];

const BOND: &[RecordField] = &[
    field("mode", Of::Word(&words::BOND_MODE)),
    field("xmitHashPolicy", Of::Word(&words::HASH_POLICY)),
    field("lacpRate", Of::Word(&words::LACP_RATE)),
    field("arpValidate", Of::Word(&words::ARP_VALIDATE)),
    field("arpAllTargets", Of::Word(&words::ARP_TARGETS)),
    omit("primary", Of::Pointer(&U32)),
    field("primaryReselect", Of::Word(&words::RESELECT)),
    field("failOverMac", Of::FailOverMac),
    omit("adSelect", Of::Word(&words::SELECT)),
    omit("miimon", U32),
    omit("updelay", U32),
    omit("downdelay", U32),
    omit("arpInterval", U32),
    omit("resendIgmp", U32),
    omit("minLinks", U32),
    omit("lpInterval", U32),
    omit("packetsPerSlave", U32),
    omit("numPeerNotif", U8),
    omit("tlbLogicalLb", U8),
    omit("allSlavesActive", U8),
    omit("useCarrier", Of::Flag),
    omit("adActorSysPrio", U16),
    omit("adUserPortKey", U16),
    omit("peerNotifyDelay", U32),
    since(12, omit("arpIpTargets", Of::List(&Of::Address))),
    since(12, omit("nsIp6Targets", Of::List(&Of::Address))),
    since(12, omit("adLacpActive", Of::Word(&words::LACP_ACTIVE))),
    since(12, omit("missedMax", U8)),
];

const BRIDGE: &[RecordField] = &[
    omit("stp", Of::Record(&[field("enabled", Of::Flag)])),
    omit("vlan", Of::Record(&[field("filteringEnabled", Of::Flag)])),
];

const WIREGUARD: &[RecordField] = &[
    omit("privateKey", Of::Text),
    omit("publicKey", Of::Text),
    field("listenPort", INT),
    field("firewallMark", INT),
    field("peers", Of::List(&Of::Record(PEER))),
];

const PEER: &[RecordField] = &[
    field("publicKey", Of::Text),
    field("presharedKey", Of::Text),
    field("endpoint", Of::Text),
    field("persistentKeepaliveInterval", Of::Duration),
    field("allowedIPs", Of::List(&Of::Prefix)),
];

const ROUTE: &[RecordField] = &[
    field("family", Of::Word(&words::FAMILY)),
    field("dst", Of::Prefix),
    field("src", Of::Address),
    field("gateway", Of::Address),
    omit("outLinkName", Of::Text),
    field("table", Of::Table),
    omit("priority", U32),
    field("scope", Of::Word(&words::SCOPE)),
    field("type", Of::Word(&words::ROUTE_TYPE)),
    field("flags", Of::Flags(words::ROUTE_FLAGS, true)),
    field("protocol", Of::Word(&words::PROTOCOL)),
    LAYER,
    omit("mtu", U32),
    since(14, omit("nextHops", Of::List(&Of::Record(NEXT_HOP)))),
];

const NEXT_HOP: &[RecordField] =
    &[field("gateway", Of::Address), omit("outLinkName", Of::Text), omit("weight", U32)];

const HOSTNAME: &[RecordField] = &[field("hostname", Of::Text), field("domainname", Of::Text), LAYER];

const RESOLVER: &[RecordField] = &[
    field("dnsServers", Of::List(&Of::Address)),
    since(14, omit("nameServers", Of::List(&Of::Record(NAME_SERVER)))),
    LAYER,
    omit("searchDomains", Of::List(&Of::Text)),
    since(14, omit("searchDomainsOverridden", Of::Flag)),
];

const NAME_SERVER: &[RecordField] = &[
    field("addr", Of::Address),
    field("protocol", Of::Word(&words::DNS_PROTOCOL)),
    field("tlsServerName", Of::Text),
];

const TIME_SERVER: &[RecordField] =
    &[field("timeServers", Of::List(&Of::Text)), LAYER, since(14, omit("useNTS", Of::Flag))];

const OPERATOR: &[RecordField] = &[
    field("operator", Of::Word(&words::OPERATOR)),
    field("linkName", Of::Text),
    field("requireUp", Of::Flag),
    omit("dhcp4", Of::Record(DHCP4)),
    omit("dhcp6", Of::Record(DHCP6)),
    omit("vip", Of::Record(VIP)),
    LAYER,
];

const CLIENT_ID: RecordField = since(
    12,
    omit(
        "clientIdentifier",
        Of::Record(&[field("clientIdentifier", Of::Word(&words::CLIENT_ID)), omit("duidRawHex", Of::Text)]),
    ),
);

const DHCP4: &[RecordField] = &[
    field("routeMetric", U32),
    omit("skipHostnameRequest", Of::Flag),
    CLIENT_ID,
    since(14, omit("skipRoutes", Of::Flag)),
];

const DHCP6: &[RecordField] = &[field("routeMetric", U32), omit("skipHostnameRequest", Of::Flag), CLIENT_ID];

const VIP: &[RecordField] = &[
    field("ip", Of::Address),
    field("gratuitousARP", Of::Flag),
    omit(
        "equinixMetal",
        Of::Record(&[field("projectID", Of::Text), field("deviceID", Of::Text), field("apiToken", Of::Text)]),
    ),
    omit(
        "hcloud",
        Of::Record(&[field("deviceID", INT), field("networkID", INT), field("apiToken", Of::Text)]),
    ),
];

const PROBE: &[RecordField] = &[
    field("interval", Of::Duration),
    field("failureThreshold", INT),
    omit("tcp", Of::Record(&[field("endpoint", Of::Text), field("timeout", Of::Duration)])),
    LAYER,
];

const METADATA: &[RecordField] = &[
    omit("platform", Of::Text),
    omit("hostname", Of::Text),
    omit("region", Of::Text),
    omit("zone", Of::Text),
    omit("instanceType", Of::Text),
    omit("instanceId", Of::Text),
    omit("providerId", Of::Text),
    omit("spot", Of::Flag),
    omit("internalDNS", Of::Text),
    omit("externalDNS", Of::Text),
    omit("tags", Of::Texts),
];

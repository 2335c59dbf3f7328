//! Raw YAML words: likely ones for the types and keys of Talos' documents, and those that are read in surprising ways.

use super::random::Random;

/// A likely word for a type and a key.
pub(super) fn likely(random: &mut Random, kind: &str, key: &str) -> String {
    if kind == "string" { random.word(of_key(key)) } else { random.word(of_type(kind)) }
}

/// Any word at all.
pub(super) fn any(random: &mut Random) -> String {
    let words = *random.pick(&[PREFIXES, NAMES, URLS, SURPRISES, SURPRISES, SURPRISES]);
    random.word(words)
}

/// Words whose meaning depends on the reader, and values at the edge of a range.
const SURPRISES: &[&str] = &[
    "~",
    "\"\"",
    "true",
    "'true'",
    "on",
    "'off'",
    "y",
    "0",
    "-1",
    "1.5",
    "1e3",
    "010",
    "0x1F",
    "0o17",
    "0b101",
    "1_000",
    "12:34:56",
    ".inf",
    "2001-01-01",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "256",
    "65536",
    "[]",
    "{}",
    "[a, ~]",
    "{a: {b: 1}}",
    "\"a\\tb\"",
    "' x '",
    "\"é\"",
    "!!str 5",
    "!!int \"5\"",
    "|2-\n    x",
    "null",
    "Null",
    "\"null\"",
    "'*'",
    "'%'",
    "a#b",
    "\"a: b\"",
];

const NAMES: &[&str] = &[
    "a",
    "eth0",
    "enp1s0f0np0",
    "n1.example.org",
    "bond0",
    "\"lo\"",
    "br-lan",
    "node-1",
    "UPPER",
    "under_score",
    "-dash",
    "a/b",
    "eth0.100",
    "a.very.long.interface.name",
    "\"1\"",
    "net%d",
    "u-data",
    "STATE",
    "EPHEMERAL",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "dummy0",
    "net0",
    "IMAGECACHE",
];
const ADDRESSES: &[&str] = &[
    "10.0.0.1",
    "10.0.0.0",
    "192.168.1.300",
    "\"fd00::1\"",
    "\"fe80::1\"",
    "\"::\"",
    "0.0.0.0",
    "127.0.0.1",
    "\"fe80::1%eth0\"",
    "\"::ffff:10.0.0.1\"",
    "10.0.0.01",
    "169.254.1.1",
    "224.0.0.1",
];
const PREFIXES: &[&str] = &[
    "10.0.0.0/8",
    "10.0.0.1/24",
    "0.0.0.0/0",
    "\"fd00::/64\"",
    "\"fd00::1/64\"",
    "\"::/0\"",
    "10.0.0.0/33",
    "10.0.0.1",
    "10.244.0.0/16",
    "10.96.0.0/12",
    "192.168.0.0/24",
    "\"fe80::/10\"",
    "10.0.0.0/08",
    "'!10.0.0.0/8'",
];
const URLS: &[&str] = &[
    "https://10.0.0.10:6443",
    "https://api.example.org:6443",
    "http://a",
    "udp://10.0.0.1:514",
    "tcp://a.b:1",
    "\"https://[fd00::1]:6443\"",
    "https://a:99999",
    "'https://'",
    "ftp://a/b",
    "a.b:80",
    "/path",
    "\"https://a b\"",
    "https://discovery.talos.dev/",
    "\"https://a/%zz\"",
    "grpc://a:1?x=y#z",
    "\"\"",
    "\"udp://a\"",
    "\"https://u:p@a\"",
];
const IMAGES: &[&str] = &[
    "registry.k8s.io/kube-apiserver:v1.36.1",
    "ghcr.io/siderolabs/kubelet:v1.34.0",
    "a",
    "a:b@sha256:1",
    "a/b:v1.2",
    "ghcr.io/siderolabs/installer:v1.13.0",
    "registry.k8s.io/kube-proxy:v1.37.0",
    "\"A:b\"",
    "a:latest",
    "'a:'",
    "quay.io/coreos/etcd:v3.6.1",
    "registry.k8s.io/kube-scheduler:v1.20.0",
];
const PATHS: &[&str] = &[
    "/var/lib/a",
    "/etc/a.conf",
    "a/b",
    "/",
    "/dev/sda",
    "/dev/disk/by-id/a",
    "/var/../etc",
    "/dev/watchdog0",
    "\"/a b\"",
];
const SIZES: &[&str] =
    &["10GB", "100 MiB", "1.5GiB", "-1GB", "50%", "0%", "101%", "1", "10XB", "1TB", "\"\"", "0"];
const WORDS: &[&str] = &[
    "a",
    "a.b",
    "\"x y\"",
    "default",
    "none",
    "flannel",
    "custom",
    "iptables",
    "nftables",
    "ipvs",
    "create",
    "overwrite",
    "append",
    "controlplane",
    "worker",
    "json_lines",
    "active-backup",
    "802.3ad",
    "layer3+4",
    "fast",
    "slow",
    "kube-system",
    "os:admin",
    "os:reader",
    "os:operator",
    "NoSchedule",
    "\":NoExecute\"",
    "v:NoSchedule",
    "cluster.local",
    "Webhook",
    "Node",
    "RBAC",
    "ro",
    "rw",
    "bind",
    "KEY=value",
    "KEY",
    "vxlan",
    "abcdef.0123456789abcdef",
    "SCMP_ACT_ERRNO",
    "linear",
    "host",
    "isolated",
    "CAP_NET_ADMIN",
    "ext4",
    "xfs",
];
const CELS: &[&str] = &[
    "system_disk",
    "disk.size > 10u * GB",
    "\"disk.dev_path == '/dev/sda'\"",
    "disk.transport == 'nvme' && !system_disk",
    "disk.foo",
    "\"1 +\"",
    "link.driver == 'e1000'",
    "mac(link.permanent_addr) == '00:11:22:33:44:55'",
    "volume.name == 'a'",
    "glob('0000:*', link.bus_path)",
    "'true'",
    "\"\"",
    "disk.size",
    "volume.partition_label == 'x'",
    "multiply_qos_vectors(d_qos_memory_full_total, {System: 8.0}) > 3000.0",
];
const KEYS: &[&str] = &[
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==",
    "dGVzdA==",
    "GBqjD2YGZ0vHg0SZ3bvH5FtrVUTH1KlNMBIXS0PrpHA=",
    "not-base64",
    "\"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n\"",
    "\"\"",
    "dGVzdA=",
    "'******'",
];

/// Likely texts for a key.
fn of_key(key: &str) -> &'static [&'static str] {
    let has = |words: &[&str]| words.iter().any(|word| key.to_ascii_lowercase().contains(word));
    if has(&["subnet", "cidr", "network", "allowedip", "addresses", "listenpeer", "filter"]) {
        PREFIXES
    } else if has(&["gateway", "source", "nameserver", "target", "ip", "dns", "address"]) {
        ADDRESSES
    } else if has(&["url", "endpoint", "mirror", "server", "issuer"]) {
        URLS
    } else if has(&["image"]) {
        IMAGES
    } else if has(&["disk", "path", "device", "destination", "mount", "dir"]) {
        PATHS
    } else if has(&["size", "memory", "cpu"]) {
        SIZES
    } else if has(&["interface", "link", "name", "vrf", "group", "master", "parent", "primary"]) {
        NAMES
    } else if has(&["key", "cert", "crt", "ca", "secret", "identity"]) {
        KEYS
    } else {
        WORDS
    }
}

/// Likely words for a type.
fn of_type(kind: &str) -> &'static [&'static str] {
    match kind {
        "bool" => &["true", "false", "true", "false", "on", "'no'"],
        "int" | "i32" => &["0", "1", "1500", "443", "51820", "-1", "65536", "600"],
        "uint" | "u64" | "u32" | "u16" | "u8" => {
            &["0", "1", "3", "100", "200", "1500", "9000", "4094", "65000", "70000"]
        }
        "mode" => &["0o644", "0644", "420", "0o1777", "0o7777", "0o10000", "'0644'"],
        "duration" => &["1m30s", "0s", "10s", "3s", "1h", "168h", "5", "-1s", "1d", "500ms", "\"\"", "24h"],
        "addr" => ADDRESSES,
        "prefix" => PREFIXES,
        "addrport" => &["10.0.0.1:51820", "'[fd00::1]:51820'", "10.0.0.1", "10.0.0.1:0", "'a:1'", "\"\""],
        "url" | "endpoint" => URLS,
        "mac" => &[
            "'00:11:22:33:44:55'",
            "52:54:00:00:02:01",
            "00-11-22-33-44-55",
            "'00:11'",
            "0011.2233.4455",
            "\"\"",
            "'AA:BB:CC:DD:EE:FF'",
        ],
        "base64" => KEYS,
        "bytes" | "size" | "disk-size" => SIZES,
        "size-match" => &["'>= 10GB'", "10GB", "'<= 1TB'", "'> 5'", "'!= 1'", "'>=1 GiB'", "'== 1'"],
        "cel" => CELS,
        "manifest" => &[
            "\"a: b\\n\"",
            "\"\\n\\nkind: Pod\\n\"",
            "\"\"",
            "'x: ['",
            "\"apiVersion: v1\\nkind: Namespace\\nmetadata: {name: a}\\n\"",
        ],
        "routing-table" => &["100", "main", "local", "default", "252", "253", "0", "'88'", "unspec", "x"],
        "port-range" => &["80", "1000-2000", "2000-1000", "0", "'22'", "65535", "65536", "a-b", "53-"],
        "default-action" => &["accept", "block", "drop"],
        "protocol" => &["tcp", "udp", "icmp", "icmpv6", "TCP", "sctp"],
        "vlan-protocol" => &["802.1q", "802.1ad", "'802.1q'", "x"],
        "wake-on-lan" => &["magic", "unicast", "x", "phy"],
        "dns-protocol" => &["Do53", "DoT", "DoH", "dot"],
        "client-identifier" => &["none", "mac", "duid", "x"],
        "bond-mode" => &[
            "active-backup",
            "802.3ad",
            "balance-rr",
            "balance-tlb",
            "balance-alb",
            "balance-xor",
            "broadcast",
            "x",
        ],
        "hash-policy" => &["layer2", "layer3+4", "layer2+3", "vlan+srcmac"],
        "arp-validate" => &["none", "active", "all", "filter", "x"],
        "arp-all-targets" => &["any", "all", "x"],
        "lacp-rate" => &["slow", "fast", "x"],
        "fail-over-mac" => &["none", "active", "follow", "x"],
        "ad-select" => &["stable", "bandwidth", "count", "x"],
        "ad-lacp-active" => &["off", "on", "true", "x"],
        "primary-reselect" => &["always", "better", "failure", "x"],
        "auto-hostname" => &["off", "stable", "talos-addr", "x"],
        "rule-action" => &["unicast", "blackhole", "unreachable", "prohibit", "unspec", "x"],
        "encryption-provider" => &["luks2", "none", "x"],
        "filesystem" => &["xfs", "ext4", "vfat", "none", "btrfs", "swap", "virtiofs", "x"],
        "volume-type" => &["partition", "disk", "directory", "tmpfs", "symlink", "overlay", "external", "x"],
        "raid-level" => &["raid1", "raid5"],
        "raid-metadata" => &["1.0", "1.2", "'1.2'", "0.9"],
        "logical-volume" => &["linear", "raid1", "raid0", "raid10", "x"],
        "any" => SURPRISES,
        _ => WORDS,
    }
}

/// A likely key of a map or an untyped value.
pub(super) fn key(random: &mut Random) -> String {
    random.word(&[
        "a",
        "net.ipv4.ip_forward",
        "kernel.x",
        "rack",
        "example.org/zone",
        "v",
        "feature-gates",
        "HTTP_PROXY",
        "docker.io",
        "\"*\"",
        "\"a b\"",
        "apiVersion",
        "kind",
        "metadata",
        "node-role.kubernetes.io/control-plane",
        "cpu",
        "memory",
        "\"\"",
        "tx-checksum-ipv4",
        "spec",
        "process",
        "audit-log-path",
        "provider",
        "-x",
        "block.sda.queue",
    ])
}

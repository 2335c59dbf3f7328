//! Random cluster files with up to eight machines.

use super::dice::Dice;

/// Every feature that some fabric must have, so that none is left untested.
pub const FEATURES: [&str; 30] = [
    "a gateway that lists its nodes",
    "a gateway with a range",
    "a node on leafs and a gateway",
    "a password",
    "a preference for the fabric",
    "a prefix of others is not let in",
    "a router of others",
    "a router of others with another password",
    "a router without IPv4 over IPv6",
    "a wrong AS number",
    "a wrong cable",
    "addresses of services",
    "aggregates of others' parts",
    "aggregates of own parts",
    "aggregates of services",
    "an AS number twice",
    "cables between leafs",
    "communities that keep",
    "communities that only tell",
    "dummies",
    "graceful shutdown",
    "graceful restart",
    "IPv4 alone",
    "IPv6 sessions by address",
    "IPv4 sessions by address",
    "leafs that share an AS number",
    "part of the addresses",
    "prepended AS numbers",
    "spines",
    "too many prefixes",
];

/// The routers, and how nodes peer with them.
struct Routers {
    leafs: usize,
    gateways: usize,
    preferring: bool,
    crowded: bool,
}

/// A cluster file.
pub fn roll(dice: &mut Dice) -> String {
    let shape = dice.below(3);
    let leafs = if shape == 1 { 0 } else { 1 + dice.below(3) };
    let gateways = if shape == 0 { 0 } else { 1 + dice.below(2) };
    let spines = if leafs == 0 { 0 } else { dice.below(3).min(4 - leafs) };
    let nodes = 2 + dice.below(3).min(6 - leafs - gateways - spines);
    if spines > 0 {
        dice.chosen.insert("spines");
    }
    let mut routers = Routers { leafs, gateways, preferring: false, crowded: false };
    let mut text = String::from("cluster: {name: dice, id: 5, talos: v1.13.9}\n");
    text += &network(dice, gateways > 0);
    text += "fabric:\n  routers:\n";
    let shared = leafs > 1 && dice.choose("leafs that share an AS number", 4);
    for leaf in 1..=leafs {
        text += &leaf_of(dice, leaf, shared);
    }
    for spine in 1..=spines {
        text += &format!("  - {{name: spine{spine}, role: spine, asn: 65200}}\n");
    }
    for gateway in 1..=gateways {
        text += &gateway_of(dice, gateway);
    }
    text += &cables(dice, leafs, spines, gateways);
    let workload = if dice.one_in(5) { "" } else { ", workload: {speaker: metallb}" };
    if !workload.is_empty() {
        dice.chosen.insert("addresses of services");
    }
    let graceful = if dice.choose("graceful restart", 6) { "{time: 1}" } else { "false" };
    text += &format!("routing: {{backend: frr, graceful_restart: {graceful}{workload}}}\n");
    text += "defaults: {ports: [fab0, fab1]}\nnodes:\n";
    for node in 1..=nodes {
        text += &node_of(dice, node, &mut routers);
    }
    text
}

fn network(dice: &mut Dice, numbered: bool) -> String {
    let both = !dice.choose("IPv4 alone", 4);
    let pair = |v4: &str, v6: &str| if both { format!("[{v4}, \"{v6}\"]") } else { format!("[{v4}]") };
    let mut text = String::from("network:\n");
    let node = if numbered { "{v4: 10.5.0.0/24, v6: \"fd00:5::/64\"}" } else { "null" };
    text += &format!("  node: {node}\n");
    if !both {
        text += "  loopback: {v6: null}\n";
    }
    if dice.choose("dummies", 2) {
        let v6 = if both { ", v6: \"fd00:5:d::/64\"" } else { "" };
        text += &format!("  dummy: {{dummy0: {{v4: 10.5.1.0/24{v6}}}}}\n");
    }
    text += &format!("  api: {{anycast: {}}}\n", pair("10.5.9.100/32", "fd00:5:a::100/128"));
    text + &format!("  services: {{pools: {{default: {}}}}}\n", pair("198.51.100.0/24", "2001:db8:5::/112"))
}

fn leaf_of(dice: &mut Dice, leaf: usize, shared: bool) -> String {
    let asn = if shared { 65100 } else { 65100 + leaf };
    let mut more = String::new();
    if dice.choose("a password", 4) {
        more += ", password: {env: LEAF}";
    }
    if dice.choose("a router of others", 5) {
        more += ", software: other";
    }
    format!("  - {{name: leaf{leaf}, asn: {asn}{more}}}\n")
}

fn gateway_of(dice: &mut Dice, gateway: usize) -> String {
    let v6 = dice.one_in(2);
    dice.chosen.insert(if v6 { "IPv6 sessions by address" } else { "IPv4 sessions by address" });
    let (address, range) = if v6 {
        (format!("\"fd00:5::ff0{gateway}\""), "\"fd00:5::/64\"")
    } else {
        (format!("10.5.0.{}", 250 + gateway), "10.5.0.0/24")
    };
    let mut more = String::new();
    if dice.one_in(2) {
        dice.chosen.insert("a gateway with a range");
        more += &format!(", listen: {range}");
    } else {
        dice.chosen.insert("a gateway that lists its nodes");
    }
    if v6 && dice.choose("a router without IPv4 over IPv6", 3) {
        more += ", extended_nexthop: false";
    }
    if dice.choose("a router of others", 4) {
        more += ", software: other, password: {env: GATEWAY}";
    } else if dice.choose("a password", 4) {
        more += ", password: {env: GATEWAY}";
    }
    format!(
        "  - {{name: gw{gateway}, role: gateway, asn: {}, addresses: [{address}]{more}}}\n",
        65300 + gateway
    )
}

/// None: every leaf is cabled to every spine. Otherwise leafs to each other, gateways to the first leaf, and all spines.
fn cables(dice: &mut Dice, leafs: usize, spines: usize, gateways: usize) -> String {
    let mut pairs = Vec::new();
    if leafs > 0 && dice.choose("a wrong cable", 6) {
        pairs.push(format!("[n1:fab0, leaf{leafs}:swp40]"));
    }
    if leafs > 1 && dice.choose("cables between leafs", 3) || gateways > 0 && leafs > 0 {
        pairs.extend((1..leafs).map(|leaf| format!("[leaf{leaf}:next, leaf{}:last]", leaf + 1)));
        pairs.extend((1..=gateways).map(|gateway| format!("[gw{gateway}:up0, leaf1:gw{gateway}]")));
        for leaf in 1..=leafs {
            pairs
                .extend((1..=spines).map(|spine| format!("[leaf{leaf}:up{spine}, spine{spine}:leaf{leaf}]")));
        }
    } else if gateways == 2 && dice.one_in(2) {
        pairs.push("[gw1:up0, gw2:up0]".to_owned());
    }
    if pairs.is_empty() { String::new() } else { format!("  cables: [{}]\n", pairs.join(", ")) }
}

fn node_of(dice: &mut Dice, node: usize, routers: &mut Routers) -> String {
    let neighbors = neighbors_of(dice, routers);
    let mut routing = vec![format!("neighbors: [{}]", neighbors.join(", "))];
    if node > 1 && dice.choose("an AS number twice", 4) {
        routing.push("asn: 4210005001".to_owned());
    }
    if let Some(policy) = policy_of(dice, routers) {
        routing.push(policy);
    }
    routing.extend(announcements_of(dice));
    let role = if node == 1 || dice.one_in(2) { "controlplane" } else { "worker" };
    format!(
        "- {{name: n{node}, role: {role}, index: {node}, macs: [\"02:00:00:00:0{node}:01\", \"02:00:00:00:0{node}:02\"], routing: {{{}}}}}\n",
        routing.join(", ")
    )
}

/// One or two leafs, and one or all gateways, if there are any.
fn neighbors_of(dice: &mut Dice, routers: &Routers) -> Vec<String> {
    let usual = "bfd: false, timers: [1, 3]";
    let mut neighbors = Vec::new();
    let wrong = |dice: &mut Dice| if dice.choose("a wrong AS number", 16) { ", asn: 65999" } else { "" };
    if routers.leafs > 0 {
        let first = 1 + dice.below(routers.leafs);
        let second = 1 + dice.below(routers.leafs);
        neighbors.push(format!("{{router: leaf{first}, link: fab0, {usual}{}}}", wrong(dice)));
        if second != first {
            neighbors.push(format!("{{router: leaf{second}, link: fab1, {usual}{}}}", wrong(dice)));
        }
    }
    if routers.leafs > 0 && routers.gateways > 0 {
        if dice.one_in(3) {
            return neighbors;
        }
        dice.chosen.insert("a node on leafs and a gateway");
    }
    let first = if routers.gateways == 2 && dice.one_in(3) { 2 } else { 1 };
    for gateway in first..=routers.gateways {
        let password = if dice.choose("a router of others with another password", 8) {
            ", password: {env: OTHER}"
        } else {
            ""
        };
        neighbors.push(format!("{{router: gw{gateway}, {usual}{password}{}}}", wrong(dice)));
    }
    neighbors
}

fn policy_of(dice: &mut Dice, routers: &mut Routers) -> Option<String> {
    let inward = match dice.below(8) {
        0 => {
            dice.chosen.insert("a prefix of others is not let in");
            "allow: [0.0.0.0/1, \"fd00::/8\"]"
        }
        1 => "allow: [0.0.0.0/0, \"::/0\"], max_prefixes: 1000, local_preference: 50",
        2 if !routers.crowded => {
            routers.crowded = true;
            dice.chosen.insert("too many prefixes");
            dice.one_of(&["max_prefixes: 2", "max_prefixes: 4", "max_prefixes: 6"])
        }
        3 | 4 if !routers.preferring => {
            routers.preferring = true;
            dice.chosen.insert("a preference for the fabric");
            "local_preference: 200"
        }
        _ => "",
    };
    let outward = match dice.below(7) {
        0 => {
            dice.chosen.insert("prepended AS numbers");
            format!("prepend: {}", dice.one_of(&[1, 2, 200]))
        }
        1 => {
            dice.chosen.insert("communities that keep");
            let kept =
                ["no-export", "no-advertise", "local-as", "\"65535:65281\"", "blackhole", "\"65535:666\""];
            format!("communities: [{}]", dice.one_of(&kept))
        }
        2 => {
            dice.chosen.insert("communities that only tell");
            format!("communities: [{}, \"65000:1\", \"1:2:3\"]", dice.one_of(&["no-peer", "accept-own"]))
        }
        3 => {
            dice.chosen.insert("graceful shutdown");
            format!("communities: [{}]", dice.one_of(&["graceful-shutdown", "\"65535:0\""]))
        }
        _ => String::new(),
    };
    (!inward.is_empty() || !outward.is_empty())
        .then(|| format!("policy: {{in: {{{inward}}}, out: {{{outward}}}}}"))
}

fn announcements_of(dice: &mut Dice) -> Vec<String> {
    let mut output = Vec::new();
    if dice.choose("part of the addresses", 4) {
        output.push(
            dice.one_of(&["advertise: [loopback]", "advertise: [anycast]", "advertise: [loopback, anycast]"])
                .to_owned(),
        );
    }
    match dice.below(8) {
        0 => {
            dice.chosen.insert("aggregates of own parts");
            output.push("aggregates: [10.5.254.0/24, 10.5.9.96/28]".to_owned());
        }
        1 => {
            dice.chosen.insert("aggregates of services");
            output.push("aggregates: [198.51.100.0/24]".to_owned());
        }
        2 => {
            dice.chosen.insert("aggregates of others' parts");
            output = vec!["advertise: [anycast]".to_owned(), "aggregates: [10.5.254.0/24]".to_owned()];
        }
        _ => {}
    }
    output
}

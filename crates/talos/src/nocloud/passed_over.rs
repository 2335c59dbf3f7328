//! The keys of a `network-config` that Talos ignores.

use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::YamlNode;

const TOP: &[&str] = &["version", "config", "ethernets", "bonds", "vlans", "renderer"];
const TYPES: &[&str] = &["physical", "bond", "vlan", "nameserver"];
const SUBNETS: &[&str] = &["dhcp", "dhcp4", "static", "static6", "ipv6_dhcpv6-stateful"];
const ETHERNET: &[&str] =
    &["match", "dhcp4", "dhcp6", "addresses", "gateway4", "gateway6", "mtu", "nameservers", "routes"];
const ROUTE: &[&str] = &["to", "via", "metric", "table", "on-link"];

/// The paths of keys without effect, such as `ethernets.eth0.match.name`.
pub fn passed_over(text: &str) -> Vec<String> {
    let Ok(Some(root)) = yaml::first(text) else { return Vec::new() };
    let root = root.get("network").unwrap_or(&root);
    let mut found = Vec::new();
    others(root, "", &[TOP], &mut found);
    match root.get("version").and_then(YamlNode::text) {
        Some("1") => first(root, &mut found),
        _ => second(root, &mut found),
    }
    found
}

/// The keys of a map that are in none of these lists.
fn others(node: &YamlNode, path: &str, known: &[&[&str]], found: &mut Vec<String>) {
    let keys = node.entries().unwrap_or_default().iter().filter(|(key, _)| !key.is_merge());
    let unknown =
        keys.filter_map(|(key, _)| key.text()).filter(|key| !known.iter().any(|list| list.contains(key)));
    found.extend(unknown.map(|key| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }));
}

fn first(root: &YamlNode, found: &mut Vec<String>) {
    for (nth, entry) in root.get("config").map(YamlNode::sources).unwrap_or_default().iter().enumerate() {
        let kind = entry.get("type").and_then(YamlNode::text).unwrap_or_default();
        if !TYPES.contains(&kind) {
            found.push(format!("config[{nth}] of type {kind}"));
            continue;
        }
        for (at, subnet) in entry.get("subnets").map(YamlNode::sources).unwrap_or_default().iter().enumerate()
        {
            let kind = subnet.get("type").and_then(YamlNode::text).unwrap_or_default();
            if !SUBNETS.contains(&kind) {
                found.push(format!("config[{nth}].subnets[{at}] of type {kind}"));
            }
            others(
                subnet,
                &format!("config[{nth}].subnets[{at}]"),
                &[&["type", "address", "netmask", "gateway"]],
                found,
            );
        }
    }
}

fn second(root: &YamlNode, found: &mut Vec<String>) {
    let sections: [(&str, &[&str]); 3] =
        [("ethernets", &[]), ("bonds", &["interfaces", "parameters"]), ("vlans", &["id", "link"])];
    for (section, more) in sections {
        for (name, link) in root.get(section).and_then(YamlNode::entries).unwrap_or_default() {
            let path = format!("{section}.{}", name.text().unwrap_or_default());
            others(link, &path, &[ETHERNET, more], found);
            let inner = |key: &str| {
                link.get(key).cloned().unwrap_or_else(|| YamlNode::from(&serde_json::Value::Null))
            };
            // Only ethernets are matched by their address.
            let matching: &[&str] = if section == "ethernets" { &["macaddress"] } else { &[] };
            others(&inner("match"), &format!("{path}.match"), &[matching], found);
            others(&inner("nameservers"), &format!("{path}.nameservers"), &[&["addresses"]], found);
            for (nth, route) in inner("routes").sources().iter().enumerate() {
                others(route, &format!("{path}.routes[{nth}]"), &[ROUTE], found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_without_effect_are_located() {
        let second = "version: 2\ndummy-devices: {}\nethernets: {a: {match: {name: 'e*'}, set-name: b, nameservers: {search: [x]}}}\n";
        let first = "version: 1\nconfig: [{type: loopback}, {type: physical, subnets: [{type: dhcp6}]}]\n";

        let want = [
            "dummy-devices",
            "ethernets.a.set-name",
            "ethernets.a.match.name",
            "ethernets.a.nameservers.search",
        ];
        assert_eq!(passed_over(second), want);
        assert_eq!(passed_over(first), ["config[0] of type loopback", "config[1].subnets[0] of type dhcp6"]);
        assert!(passed_over("network: {version: 2, ethernets: {a: {dhcp4: true}}}").is_empty());
    }
}

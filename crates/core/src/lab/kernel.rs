//! The kernel's routes as `ip -json route` prints them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

use super::state::PathCount;

/// Protocols of routes from links, operators and router advertisements. All others are routing daemons.
const NOT_DAEMONS: [&str; 5] = ["kernel", "boot", "static", "ra", "redirect"];

/// A route as iproute2 prints it.
#[derive(Debug, Deserialize)]
struct IpRoute {
    dst: String,
    protocol: Option<String>,
    #[serde(default)]
    metric: u64,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    nexthops: Vec<serde_json::Value>,
}

/// Output that is not a list of routes.
#[derive(Debug, thiserror::Error)]
pub enum IpRouteError {
    /// Not JSON, or of another structure.
    #[error("cannot parse the output of `ip -json route`")]
    Json(#[from] serde_json::Error),
    /// An invalid destination.
    #[error("`{0}` is neither a prefix nor an address")]
    Destination(String),
}

/// The routes that routing daemons installed: prefixes with their number of paths, without routes that drop packets. `v6` is
/// the queried family: `default` exists in both.
pub fn parse_routes(json: &str, v6: bool) -> Result<BTreeMap<IpNet, PathCount>, IpRouteError> {
    // Some releases of iproute2 print nothing if there are no routes.
    let listed: Vec<IpRoute> = if json.trim().is_empty() { Vec::new() } else { serde_json::from_str(json)? };
    let mut best: BTreeMap<IpNet, (u64, usize)> = BTreeMap::new();
    for route in listed {
        let protocol = route.protocol.as_deref().unwrap_or("boot");
        if NOT_DAEMONS.contains(&protocol) || route.kind.is_some_and(|kind| kind != "unicast") {
            continue;
        }
        let net = destination(&route.dst, v6).ok_or(IpRouteError::Destination(route.dst))?;
        let paths = route.nexthops.len().max(1);
        // Some daemons install each IPv6 path as a separate route with the same metric.
        let known = best.entry(net).or_insert((route.metric, 0));
        match route.metric.cmp(&known.0) {
            std::cmp::Ordering::Less => *known = (route.metric, paths),
            std::cmp::Ordering::Equal => known.1 += paths,
            std::cmp::Ordering::Greater => {}
        }
    }
    Ok(best.into_iter().map(|(net, (_, paths))| (net, PathCount::By(paths))).collect())
}

fn destination(text: &str, v6: bool) -> Option<IpNet> {
    match text {
        "default" if v6 => "::/0".parse().ok(),
        "default" => "0.0.0.0/0".parse().ok(),
        _ => text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: &str, v6: bool) -> Vec<(String, PathCount)> {
        parse_routes(json, v6).unwrap().into_iter().map(|(net, paths)| (net.to_string(), paths)).collect()
    }

    #[test]
    fn next_hops_of_daemons_are_counted() {
        let json = r#"[
            {"dst":"default","protocol":"bgp","metric":20,"flags":[],"nexthops":[{"via":{"family":"inet6","host":"fe80::1"},"dev":"eth0"},{"via":{"family":"inet6","host":"fe80::2"},"dev":"eth1"}]},
            {"dst":"10.0.0.2","via":{"family":"inet6","host":"fe80::1"},"dev":"eth0","protocol":"bgp","metric":20,"flags":[]},
            {"dst":"198.18.0.0/16","dev":"out","protocol":"kernel","scope":"link","flags":[]},
            {"type":"blackhole","dst":"10.0.0.0/8","protocol":"bird","flags":[]}]"#;

        assert_eq!(
            parsed(json, false),
            [("0.0.0.0/0".to_owned(), PathCount::By(2)), ("10.0.0.2/32".to_owned(), PathCount::By(1))]
        );
    }

    #[test]
    fn separate_routes_count_as_paths_unless_their_metric_is_worse() {
        let json = r#"[
            {"dst":"fd00::1","gateway":"fe80::1","dev":"eth0","protocol":"bird","metric":32,"flags":[],"pref":"medium"},
            {"dst":"fd00::1","gateway":"fe80::2","dev":"eth1","protocol":"bird","metric":32,"flags":[],"pref":"medium"},
            {"dst":"fd00::1","gateway":"fe80::3","dev":"eth2","protocol":"bird","metric":1024,"flags":[],"pref":"medium"},
            {"dst":"default","gateway":"fe80::1","dev":"eth0","protocol":"ra","metric":1024,"flags":[],"pref":"medium"}]"#;

        assert_eq!(parsed(json, true), [("fd00::1/128".to_owned(), PathCount::By(2))]);
    }

    #[test]
    fn empty_output_is_valid_and_other_text_is_rejected() {
        assert_eq!(parsed("", false), []);
        assert!(parse_routes("[{\"dst\":\"nowhere\",\"protocol\":\"bgp\"}]", false).is_err());
        assert!(parse_routes("Cannot find device", false).is_err());
    }
}

//! The normal form of a configuration: the form in which FRR prints it.
//!
//! Both the running and the intended configuration are normalized before they are compared. Where FRR 8.4 and 10.3
//! print the same statement differently, the normal form is one that both can be converted to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::context::{Context, is_ipv4_family_line, starts_with_words};
use super::line::Line;
use super::list;
use super::statement::heading;
use crate::render::frr::community;
use ichor_values::Community;

/// Lines that are not configuration: names, and state that zebra found in the kernel.
const IGNORED: [&str; 8] = [
    "frr version",
    "hostname",
    "domainname",
    "ip forwarding",
    "ipv6 forwarding",
    "line vty",
    "service",
    "zebra nexthop kernel",
];

/// Defaults of every daemon, which it does not print, by the innermost context.
const DEFAULTS: [(Option<Context>, &str); 13] = [
    (None, "frr defaults traditional"),
    (Some(Context::Profile), "detect-multiplier 3"),
    (Some(Context::Profile), "receive-interval 300"),
    (Some(Context::Profile), "transmit-interval 300"),
    (Some(Context::Peer), "detect-multiplier 3"),
    (Some(Context::Peer), "receive-interval 300"),
    (Some(Context::Peer), "transmit-interval 300"),
    (Some(Context::Interface), "ipv6 nd suppress-ra"),
    (Some(Context::Interface), "ipv6 nd ra-interval 600"),
    (Some(Context::Bgp), "bgp default ipv4-unicast"),
    (Some(Context::Bgp), "bgp graceful-restart restart-time 120"),
    (Some(Context::Bgp), "bgp network import-check"),
    (Some(Context::Bgp), "coalesce-time 1000"),
];

/// Defaults of an instance in the profile `datacenter`, and otherwise.
const DATACENTER: [&str; 5] = [
    "timers bgp 3 9",
    "bgp log-neighbor-changes",
    "bgp deterministic-med",
    "no bgp ebgp-requires-policy",
    // FRR 10.7 prints it in this profile although it is not configured.
    "use-underlays-nexthop-weight",
];
const TRADITIONAL: [&str; 2] = ["timers bgp 60 180", "bgp ebgp-requires-policy"];

/// Contexts that exist implicitly, or that FRR prints even without lines: empty, they mean nothing.
fn is_frame(context: Context) -> bool {
    matches!(context, Context::Interface | Context::Vrf | Context::Bfd | Context::Family)
}

/// Converts lines to the normal form.
pub(crate) fn normalize(lines: Vec<Line>) -> Vec<Line> {
    let profile: &[&str] = if lines.iter().any(|line| line.text == "frr defaults datacenter") {
        &DATACENTER
    } else {
        &TRADITIONAL
    };
    let lines = lines.into_iter().flat_map(expand).collect();
    let lines = with_activations(&drop_overridden(list::assign_numbers(lines)));
    let known = NeighborFacts::new(&lines);
    let of_profile =
        |line: &Line| line.within() == Some(Context::Bgp) && profile.contains(&line.text.as_str());
    let is_configured = |line: &Line| !known.is_implied(line) && !of_profile(line);
    with_contexts(lines.into_iter().filter(is_configured).collect())
}

/// A line as FRR prints it, or the lines that it combines.
fn expand(mut line: Line) -> Vec<Line> {
    if line.above.is_empty()
        && IGNORED.iter().any(|start| starts_with_words(line.text.trim_start_matches("no "), start))
    {
        return Vec::new();
    }
    if is_derived_namespace(&line) {
        return Vec::new();
    }
    line.text = respell(&line);
    if line.within() == Some(Context::Bgp) && is_ipv4_family_line(&line.text) {
        line.above.push("address-family ipv4 unicast".to_owned());
    }
    for above in &mut line.above {
        if ["address-family ipv4", "address-family ipv6"].contains(&above.as_str()) {
            above.push_str(" unicast");
        }
    }
    match (line.within(), line.words().as_slice()) {
        (Some(Context::Bgp), ["neighbor", name, "interface", rest @ ..]) => {
            split_interface_line(&line.above, name, rest)
        }
        (Some(Context::Bgp), ["neighbor", name, "bfd", "profile", _]) => {
            vec![Line::below(&line.above, format!("neighbor {name} bfd")), line]
        }
        (None, ["ip" | "ipv6", "route", route @ .., "vrf", vrf]) => {
            let text = format!("{} route {}", line.words()[0], route.join(" "));
            vec![Line::top(format!("vrf {vrf}")), Line::below(&[format!("vrf {vrf}")], text)]
        }
        _ => vec![line],
    }
}

/// Whether a line names the namespace that zebra found by the name of the VRF. Removing it would disable the VRF.
fn is_derived_namespace(line: &Line) -> bool {
    match (line.above.as_slice(), line.words().as_slice()) {
        ([above], ["netns", path]) => {
            let vrf = above.strip_prefix("vrf ").unwrap_or_default();
            ["/run/netns", "/var/run/netns"].iter().any(|folder| **path == format!("{folder}/{vrf}"))
        }
        _ => false,
    }
}

/// Splits a line about a neighbour on an interface into lines that can be changed separately.
fn split_interface_line(above: &[String], name: &str, mut rest: &[&str]) -> Vec<Line> {
    let mut parts = vec!["interface".to_owned()];
    if let ["v6only", more @ ..] = rest {
        parts.push("interface v6only".to_owned());
        rest = more;
    }
    if !rest.is_empty() {
        parts.push(rest.join(" "));
    }
    parts.into_iter().map(|part| Line::below(above, format!("neighbor {name} {part}"))).collect()
}

/// The words of a line, as FRR prints them.
fn respell(line: &Line) -> String {
    let all = line.words();
    match (line.within(), all.as_slice()) {
        (_, ["description", ..]) | (Some(Context::Bgp), ["neighbor", _, "description" | "password", ..]) => {
            line.text.clone()
        }
        (_, ["bgp", "as-path", ..]) => line.text.clone(),
        (Some(Context::Interface), _) => line.text.clone(),
        (Some(Context::RouteMap), ["set", "community" | "large-community", value @ ..]) => {
            communities(value).map_or_else(|| line.text.clone(), |value| format!("set {} {value}", all[1]))
        }
        (Some(Context::RouteMap), ["continue", rest @ ..]) => {
            if rest.is_empty() {
                "on-match next".to_owned()
            } else {
                format!("on-match goto {}", rest.join(" "))
            }
        }
        (None | Some(Context::Vrf), ["router-id", id]) => format!("ip router-id {id}"),
        (Some(Context::Bgp), ["neighbor", name, "ebgp-multihop", "255"]) => {
            format!("neighbor {} ebgp-multihop", address(name))
        }
        (Some(Context::Family), ["neighbor", name, "send-community", "both" | "all"]) => {
            format!("neighbor {} send-community", address(name))
        }
        _ => all.into_iter().map(address).collect::<Vec<_>>().join(" "),
    }
}

/// Addresses in their shortest form, prefixes without host bits.
fn address(word: &str) -> String {
    if let Ok(address) = word.parse::<IpAddr>() {
        return address.to_string();
    }
    word.parse::<IpNet>().map_or_else(|_| word.to_owned(), |net| net.trunc().to_string())
}

/// Communities in FRR's order; none if one of them is not understood.
fn communities(value: &[&str]) -> Option<String> {
    let (value, end) = match value {
        [value @ .., "additive"] => (value, " additive"),
        _ => (value, ""),
    };
    let parsed: Option<Vec<_>> = value.iter().map(|word| Community::parse(word).ok()).collect();
    let (plain, large) = community::words(&parsed?);
    plain.or(large).map(|words| words + end)
}

/// Adds the activation of every neighbour that is active in IPv4. FRR prints what differs from `bgp default
/// ipv4-unicast`; the normal form lists the active neighbours in either case. A member of a group has the activation of
/// its group.
fn with_activations(lines: &[Line]) -> Vec<Line> {
    let family = "address-family ipv4 unicast";
    let has = |above: &[String], text: String| lines.contains(&Line::below(above, text));
    let mut more = Vec::new();
    for line in lines.iter().filter(|line| line.within() == Some(Context::Bgp)) {
        let instance = &line.above;
        let name = match line.words().as_slice() {
            ["neighbor", name, "remote-as", _] | ["neighbor", name, "peer-group" | "interface"] => {
                (*name).to_owned()
            }
            _ => continue,
        };
        let within = [instance.as_slice(), &[family.to_owned()]].concat();
        let in_group = lines.iter().any(|other| {
            other.above == *instance
                && starts_with_words(&other.text, &format!("neighbor {name} peer-group"))
                && other.words().len() == 4
        });
        let off = has(instance, "no bgp default ipv4-unicast".to_owned())
            || has(&within, format!("no neighbor {name} activate"));
        let active = Line::below(&within, format!("neighbor {name} activate"));
        if !off && !in_group && !lines.contains(&active) && !more.contains(&active) {
            more.push(active);
        }
    }
    let is_kept = |line: &Line| !(line.text.starts_with("no neighbor ") && line.text.ends_with(" activate"));
    lines.iter().filter(|line| is_kept(line)).cloned().chain(more).collect()
}

/// Facts about neighbours that make other lines redundant.
struct NeighborFacts {
    ports: BTreeSet<(Vec<String>, String)>,
    groups: BTreeMap<(Vec<String>, String), String>,
    active: BTreeSet<(Vec<String>, String)>,
}

impl NeighborFacts {
    fn new(lines: &[Line]) -> Self {
        let mut known = Self { ports: BTreeSet::new(), groups: BTreeMap::new(), active: BTreeSet::new() };
        for line in lines {
            let (above, words) = (line.above.clone(), line.words());
            match words.as_slice() {
                ["neighbor", name, "interface"] => drop(known.ports.insert((above, (*name).to_owned()))),
                ["neighbor", name, "peer-group", group] => {
                    known.groups.insert((above, (*name).to_owned()), (*group).to_owned());
                }
                ["neighbor", name, "activate"] => drop(known.active.insert((above, (*name).to_owned()))),
                _ => {}
            }
        }
        known
    }

    fn is_implied(&self, line: &Line) -> bool {
        match line.words().as_slice() {
            // FRR enables it automatically between neighbours without addresses.
            ["neighbor", name, "capability", "extended-nexthop"] => {
                self.ports.contains(&(line.above.clone(), (*name).to_owned()))
            }
            ["neighbor", _, "send-community"] => true,
            ["neighbor", name, "activate"] => {
                let instance = line.above.iter().take(1).cloned().collect();
                let group = self.groups.get(&(instance, (*name).to_owned()));
                group.is_some_and(|group| self.active.contains(&(line.above.clone(), group.clone())))
            }
            _ => DEFAULTS.contains(&(line.within(), line.text.as_str())),
        }
    }
}

/// Drops contexts without lines, and adds missing ones.
fn with_contexts(lines: Vec<Line>) -> Vec<Line> {
    let mut seen: BTreeSet<Line> = BTreeSet::new();
    let mut framed: Vec<Line> = Vec::new();
    for line in lines {
        if line.opens().is_some_and(is_frame) {
            continue;
        }
        for depth in 0..line.above.len() {
            let frame = Line::below(&line.above[..depth], line.above[depth].clone());
            if seen.insert(frame.clone()) {
                framed.push(frame);
            }
        }
        if seen.insert(line.clone()) {
            framed.push(line);
        }
    }
    framed
}

/// Of lines that replace each other, the last counts. A line that opens a context keeps its first position.
fn drop_overridden(lines: Vec<Line>) -> Vec<Line> {
    let mut places: BTreeMap<_, usize> = BTreeMap::new();
    let mut kept: Vec<Option<Line>> = Vec::new();
    for line in lines {
        let (key, opens) = (super::key(&line), line.opens().is_some());
        match places.get(&key) {
            Some(&place) if opens => kept[place] = Some(line),
            before => {
                if let Some(&place) = before {
                    kept[place] = None;
                }
                places.insert(key, kept.len());
                kept.push(Some(line));
            }
        }
    }
    let mut lines: Vec<_> = kept.into_iter().flatten().collect();
    // An entry of a route map that was opened twice has its last heading.
    let heads: BTreeMap<_, _> = lines
        .iter()
        .filter(|line| line.opens() == Some(Context::RouteMap))
        .map(|line| (heading(&line.text), line.text.clone()))
        .collect();
    for above in lines.iter_mut().filter_map(|line| line.above.first_mut()) {
        if let Some(head) = heads.get(&heading(above)) {
            above.clone_from(head);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::FrrConfig;

    #[test]
    fn a_namespace_found_by_zebra_is_ignored_and_another_is_kept() {
        let found = "vrf red\n netns /run/netns/red\nexit-vrf\n";
        let kept = found.replace("netns/red", "netns/blue");

        assert!(FrrConfig::parse(found).lines().is_empty());
        assert_eq!(FrrConfig::parse(&kept).lines().len(), 2);
    }

    #[test]
    fn lines_that_frr_10_7_adds_in_a_profile_are_ignored() {
        let bgp = "router bgp 65001\n use-underlays-nexthop-weight\nexit\n";
        let datacenter = format!("frr defaults datacenter\n{bgp}");
        let has_line = |text: &str| {
            FrrConfig::parse(text).lines().iter().any(|line| line.text == "use-underlays-nexthop-weight")
        };

        assert!(!has_line(&datacenter));
        assert!(has_line(bgp));
    }
}

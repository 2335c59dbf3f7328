//! BGP instances.

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::{not_negative, required};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges one.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    required(&name, issues);
    let asn = document.get("localASN");
    if asn.number() == 0 {
        issues.error(&asn, "a BGP instance needs an AS number");
    }
    let router = document.get("routerID");
    if router.text().contains(':') {
        issues.error(&router, format!("{} is not an IPv4 address, which a router ID must be", router.text()));
    }
    neighbors(document, issues);
    imports(&document.get("importRoutes"), name.text(), issues);
}

fn neighbors(document: &Field<'_>, issues: &mut DocumentIssues) {
    let neighbors = document.get("neighbors");
    if neighbors.is_empty() {
        issues.warning(&neighbors, "a BGP instance without neighbors has no sessions");
    }
    let mut seen = BTreeSet::new();
    for neighbor in neighbors.items() {
        behavior(&neighbor, &document.get("vrf"), issues);
        let (address, link) = (neighbor.get("address"), neighbor.get("link"));
        if address.is_empty() == link.is_empty() {
            issues.error(&neighbor, "a neighbor has either an address or a link");
            continue;
        }
        let key = if address.is_empty() { link } else { address };
        if !seen.insert(key.text()) {
            issues.error(&key, format!("{} is a neighbor already", key.text()));
        }
    }
}

fn behavior(neighbor: &Field<'_>, vrf: &Field<'_>, issues: &mut DocumentIssues) {
    not_negative(&neighbor.get("holdTime"), issues);
    let bfd = neighbor.get("bfd");
    if !bfd.is_set() {
        return;
    }
    if !vrf.is_empty() {
        issues.error(&bfd, "BFD does not work in a VRF: remove it");
    }
    not_negative(&bfd.get("transmitInterval"), issues);
    not_negative(&bfd.get("receiveInterval"), issues);
}

fn imports(routes: &Field<'_>, instance: &str, issues: &mut DocumentIssues) {
    let mut sources = BTreeSet::new();
    let mut before: Vec<IpNet> = Vec::new();
    for route in routes.items() {
        let source = route.get("bgpInstance");
        if required(&source, issues) {
            if source.text() == instance {
                issues.error(&source, "an instance cannot import from itself");
            }
            if !sources.insert(source.text()) {
                issues.error(
                    &source,
                    format!("{:?} is imported from already: put the prefixes together", source.text()),
                );
            }
        }
        before.extend(prefixes(&route.get("prefixes"), &before, issues));
    }
}

/// Judges the prefixes of one import, and gives those that are well written.
fn prefixes(prefixes: &Field<'_>, before: &[IpNet], issues: &mut DocumentIssues) -> Vec<IpNet> {
    required(prefixes, issues);
    let mut own: Vec<IpNet> = Vec::new();
    for field in prefixes.items() {
        let Ok(prefix) = field.text().parse::<IpNet>() else {
            issues.error(&field, "this is not a prefix");
            continue;
        };
        let masked = prefix == prefix.trunc();
        if !masked {
            issues.error(&field, format!("{prefix} has bits behind its length: write {}", prefix.trunc()));
        }
        let overlaps = |other: &&IpNet| other.contains(&prefix.addr()) || prefix.contains(&other.addr());
        let other = own.iter().find(overlaps).or_else(|| before.iter().filter(|_| masked).find(overlaps));
        if let Some(other) = other {
            issues.error(&field, format!("{prefix} overlaps {other}"));
        }
        own.push(prefix);
    }
    own.retain(|prefix| *prefix == prefix.trunc());
    own
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    const GOOD: &str =
        "name: a\nlocalASN: 65000\nneighbors: [{address: 10.0.0.1}, {link: eth0, holdTime: 9s}]\n";

    #[test]
    fn an_instance_has_a_name_an_as_number_and_neighbors() {
        check(
            "BGPInstanceConfig",
            &[
                (GOOD, &[]),
                ("vrf: x", &["!name", "!localASN", "?neighbors"]),
                (&format!("{GOOD}routerID: 10.0.0.1"), &[]),
                (&format!("{GOOD}routerID: 'fd00::1'"), &["!routerID"]),
            ],
        );
    }

    #[test]
    fn a_neighbor_has_an_address_or_a_link() {
        check(
            "BGPInstanceConfig",
            &[
                (
                    "name: a\nlocalASN: 1\nneighbors: [{}, {address: 10.0.0.1, link: eth0}]",
                    &["!neighbors[0]", "!neighbors[1]"],
                ),
                (
                    "name: a\nlocalASN: 1\nneighbors: [{link: eth0}, {link: eth0}, {address: 10.0.0.1}, {address: 10.0.0.1}]",
                    &["!neighbors[1].link", "!neighbors[3].address"],
                ),
                (
                    "name: a\nvrf: v\nlocalASN: 1\nneighbors: [{link: a, holdTime: -1s, bfd: {receiveInterval: -1s}}]",
                    &["!neighbors[0].holdTime", "!neighbors[0].bfd", "!neighbors[0].bfd.receiveInterval"],
                ),
            ],
        );
    }

    #[test]
    fn imports_are_masked_and_do_not_overlap() {
        let cases: [(&str, &[&str]); 5] = [
            (
                "[{bgpInstance: b, prefixes: [10.0.0.0/8, 'fd00::/8']}, {bgpInstance: c, prefixes: [192.168.0.0/16]}]",
                &[],
            ),
            ("[{}]", &["!importRoutes[0].bgpInstance", "!importRoutes[0].prefixes"]),
            (
                "[{bgpInstance: a, prefixes: [10.0.0.1/8]}]",
                &["!importRoutes[0].bgpInstance", "!importRoutes[0].prefixes[0]"],
            ),
            ("[{bgpInstance: b, prefixes: [10.0.0.0/8, 10.1.0.0/16]}]", &["!importRoutes[0].prefixes[1]"]),
            (
                "[{bgpInstance: b, prefixes: [10.0.0.0/8]}, {bgpInstance: b, prefixes: [10.1.0.0/16]}]",
                &["!importRoutes[1].bgpInstance", "!importRoutes[1].prefixes[0]"],
            ),
        ];

        for (imports, said) in cases {
            check("BGPInstanceConfig", &[(&format!("{GOOD}importRoutes: {imports}"), said)]);
        }
    }
}

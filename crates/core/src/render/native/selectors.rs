//! Prefixes accepted from a speaker, for `importRoutes`.
//!
//! `importRoutes` matches prefixes and more specific ones; it has no deny rules and no prefix lengths. The selectors are
//! therefore the permitted prefixes minus the denied ones. Two differences from the filter remain: all prefixes within a pool
//! pass, not only host routes; and a prefix that contains a denied one does not pass, because no selector contains it.

use ipnet::IpNet;

use ichor_bgp::model::{Family, PrefixFilter, PrefixRule};

/// The selectors of the families: masked, without overlaps and without default routes.
pub fn selectors(filter: &PrefixFilter, families: &[Family]) -> Vec<IpNet> {
    let mut selectors = Vec::new();
    for &family in families {
        selectors.extend(family_selectors(filter.rules_for(family)));
    }
    selectors.sort();
    selectors
}

/// The first matching rule decides, so each rule applies to what earlier rules do not match.
fn family_selectors<'t>(terms: impl Iterator<Item = &'t PrefixRule>) -> Vec<IpNet> {
    let mut decided: Vec<IpNet> = Vec::new();
    let mut permitted = Vec::new();
    for term in terms.filter(|term| !is_default_only(term)) {
        let left = subtract(term.net, &decided);
        decided.push(term.net);
        if term.permit {
            permitted.extend(left);
        }
    }
    permitted.into_iter().flat_map(split_default).collect()
}

/// Whether a rule matches only the default route, which [`split_default`] excludes.
fn is_default_only(term: &PrefixRule) -> bool {
    term.net.prefix_len() == 0 && term.most == 0
}

/// Splits a default route into its two halves, which do not contain it.
fn split_default(net: IpNet) -> Vec<IpNet> {
    if net.prefix_len() > 0 { vec![net] } else { halves(net) }
}

fn halves(net: IpNet) -> Vec<IpNet> {
    net.subnets(net.prefix_len() + 1).map(Iterator::collect).unwrap_or_default()
}

/// The largest prefixes within `net` that do not overlap with `taken`.
fn subtract(net: IpNet, taken: &[IpNet]) -> Vec<IpNet> {
    if taken.iter().any(|other| other.contains(&net)) {
        return Vec::new();
    }
    let inside: Vec<IpNet> = taken.iter().copied().filter(|other| net.contains(other)).collect();
    if inside.is_empty() {
        return vec![net];
    }
    halves(net).into_iter().flat_map(|half| subtract(half, &inside)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn selected(terms: &[PrefixRule], families: &[Family]) -> Vec<String> {
        selectors(&PrefixFilter(terms.to_vec()), families).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pool_is_a_selector() {
        let terms =
            [PrefixRule::exactly(false, net("0.0.0.0/0")), PrefixRule::hosts(true, net("198.51.100.0/24"))];

        assert_eq!(selected(&terms, &Family::ALL), ["198.51.100.0/24"]);
        assert_eq!(selected(&terms, &[Family::V6]), [""; 0]);
    }

    #[test]
    fn denied_prefixes_are_cut_out() {
        let terms =
            [PrefixRule::within(false, net("10.0.0.0/26")), PrefixRule::within(true, net("10.0.0.0/24"))];

        assert_eq!(selected(&terms, &Family::ALL), ["10.0.0.64/26", "10.0.0.128/25"]);
    }

    #[test]
    fn a_pool_inside_a_denied_prefix_is_kept() {
        let terms =
            [PrefixRule::within(true, net("10.0.0.192/26")), PrefixRule::within(false, net("10.0.0.0/24"))];

        assert_eq!(selected(&terms, &Family::ALL), ["10.0.0.192/26"]);
    }

    #[test]
    fn the_default_route_is_never_selected() {
        let terms = [PrefixRule::within(true, net("::/0"))];

        assert_eq!(selected(&terms, &Family::ALL), ["::/1", "8000::/1"]);
    }

    #[test]
    fn overlapping_prefixes_are_selected_once() {
        let terms =
            [PrefixRule::within(true, net("10.1.0.0/16")), PrefixRule::within(true, net("10.0.0.0/15"))];

        assert_eq!(selected(&terms, &Family::ALL), ["10.0.0.0/16", "10.1.0.0/16"]);
    }
}

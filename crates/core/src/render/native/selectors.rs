//! What is taken from a speaker, as `importRoutes` can say it: prefixes, and all within them.
//!
//! There is no refusing and no length there. So the selectors are what is left of the permitted prefixes when the refused ones
//! are cut out. Two differences to the filter remain: single addresses cannot be asked for, so all within a pool passes; and a
//! prefix around a refused one does not pass, as it lies in no selector.

use ipnet::IpNet;

use ichor_bgp::model::{Family, PrefixFilter, PrefixRule};

/// The selectors of the families: masked, and no two overlap. None of them is a default route.
pub fn selectors(filter: &PrefixFilter, families: &[Family]) -> Vec<IpNet> {
    let mut selectors = Vec::new();
    for &family in families {
        selectors.extend(of_family(filter.of(family)));
    }
    selectors.sort();
    selectors
}

/// The first term that matches decides, so each term has what those before it left.
fn of_family<'t>(terms: impl Iterator<Item = &'t PrefixRule>) -> Vec<IpNet> {
    let mut decided: Vec<IpNet> = Vec::new();
    let mut permitted = Vec::new();
    for term in terms.filter(|term| !is_default_alone(term)) {
        let left = without(term.net, &decided);
        decided.push(term.net);
        if term.permit {
            permitted.extend(left);
        }
    }
    permitted.into_iter().flat_map(never_default).collect()
}

/// Default routes are kept out by [`never_default`].
fn is_default_alone(term: &PrefixRule) -> bool {
    term.net.prefix_len() == 0 && term.most == 0
}

/// Both halves of everything, in which the default route does not lie.
fn never_default(net: IpNet) -> Vec<IpNet> {
    if net.prefix_len() > 0 { vec![net] } else { halves(net) }
}

fn halves(net: IpNet) -> Vec<IpNet> {
    net.subnets(net.prefix_len() + 1).map(Iterator::collect).unwrap_or_default()
}

/// The largest prefixes within `net` that share no address with `taken`.
fn without(net: IpNet, taken: &[IpNet]) -> Vec<IpNet> {
    if taken.iter().any(|other| other.contains(&net)) {
        return Vec::new();
    }
    let inside: Vec<IpNet> = taken.iter().copied().filter(|other| net.contains(other)).collect();
    if inside.is_empty() {
        return vec![net];
    }
    halves(net).into_iter().flat_map(|half| without(half, &inside)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn told(terms: &[PrefixRule], families: &[Family]) -> Vec<String> {
        selectors(&PrefixFilter(terms.to_vec()), families).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pool_is_a_selector() {
        let terms =
            [PrefixRule::exactly(false, net("0.0.0.0/0")), PrefixRule::hosts(true, net("198.51.100.0/24"))];

        assert_eq!(told(&terms, &Family::ALL), ["198.51.100.0/24"]);
        assert_eq!(told(&terms, &[Family::V6]), [""; 0]);
    }

    #[test]
    fn what_is_refused_is_cut_out() {
        let terms =
            [PrefixRule::within(false, net("10.0.0.0/26")), PrefixRule::within(true, net("10.0.0.0/24"))];

        assert_eq!(told(&terms, &Family::ALL), ["10.0.0.64/26", "10.0.0.128/25"]);
    }

    #[test]
    fn a_pool_inside_a_refused_prefix_stays() {
        let terms =
            [PrefixRule::within(true, net("10.0.0.192/26")), PrefixRule::within(false, net("10.0.0.0/24"))];

        assert_eq!(told(&terms, &Family::ALL), ["10.0.0.192/26"]);
    }

    #[test]
    fn everything_has_no_default_route() {
        let terms = [PrefixRule::within(true, net("::/0"))];

        assert_eq!(told(&terms, &Family::ALL), ["::/1", "8000::/1"]);
    }

    #[test]
    fn prefixes_that_overlap_are_told_once() {
        let terms =
            [PrefixRule::within(true, net("10.1.0.0/16")), PrefixRule::within(true, net("10.0.0.0/15"))];

        assert_eq!(told(&terms, &Family::ALL), ["10.0.0.0/16", "10.1.0.0/16"]);
    }
}

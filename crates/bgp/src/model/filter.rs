//! Prefix filters: which prefixes are permitted.

use ipnet::IpNet;

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both families.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of a prefix.
    pub fn of(net: IpNet) -> Self {
        match net {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }

    /// The prefix of all addresses.
    pub fn everything(self) -> IpNet {
        let text = match self {
            Self::V4 => "0.0.0.0/0",
            Self::V6 => "::/0",
        };
        text.parse().expect("a prefix")
    }
}

/// One rule: the prefixes within `net` whose length is in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixRule {
    /// Whether they are permitted.
    pub permit: bool,
    /// The prefix that contains them.
    pub net: IpNet,
    /// The minimum length.
    pub least: u8,
    /// The maximum length.
    pub most: u8,
}

impl PrefixRule {
    /// A rule for the prefix and all prefixes within it.
    pub fn within(permit: bool, net: IpNet) -> Self {
        Self { permit, net, least: net.prefix_len(), most: net.max_prefix_len() }
    }

    /// A rule for exactly the prefix.
    pub fn exactly(permit: bool, net: IpNet) -> Self {
        Self { permit, net, least: net.prefix_len(), most: net.prefix_len() }
    }

    /// A rule for the single addresses within the prefix.
    pub fn hosts(permit: bool, net: IpNet) -> Self {
        Self { permit, net, least: net.max_prefix_len(), most: net.max_prefix_len() }
    }

    fn matches(&self, net: IpNet) -> bool {
        self.net.contains(&net) && (self.least..=self.most).contains(&net.prefix_len())
    }
}

/// Rules, of which the first that matches decides. A prefix that matches no rule is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixFilter(pub Vec<PrefixRule>);

impl PrefixFilter {
    /// Permits everything within these prefixes; without prefixes, everything.
    pub fn allowing(nets: &[IpNet]) -> Self {
        if nets.is_empty() {
            return Self(Family::ALL.map(|family| PrefixRule::within(true, family.everything())).to_vec());
        }
        Self(nets.iter().map(|net| PrefixRule::within(true, *net)).collect())
    }

    /// Whether a prefix is permitted.
    pub fn admits(&self, net: IpNet) -> bool {
        self.0.iter().find(|rule| rule.matches(net)).is_some_and(|rule| rule.permit)
    }

    /// The rules of one family.
    pub fn rules_for(&self, family: Family) -> impl Iterator<Item = &PrefixRule> {
        self.0.iter().filter(move |rule| Family::of(rule.net) == family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let filter = PrefixFilter(vec![
            PrefixRule::exactly(false, net("0.0.0.0/0")),
            PrefixRule::within(true, net("0.0.0.0/0")),
        ]);

        assert!(!filter.admits(net("0.0.0.0/0")));
        assert!(filter.admits(net("10.0.0.0/8")));
        assert!(!filter.admits(net("::/0")), "a prefix that matches no rule is denied");
    }

    #[test]
    fn hosts_are_single_addresses() {
        let filter = PrefixFilter(vec![PrefixRule::hosts(true, net("10.0.0.0/24"))]);

        assert!(filter.admits(net("10.0.0.7/32")));
        assert!(!filter.admits(net("10.0.0.0/25")));
        assert!(!filter.admits(net("10.0.1.7/32")));
    }

    #[test]
    fn an_empty_list_of_prefixes_allows_everything() {
        let all = PrefixFilter::allowing(&[]);
        let some = PrefixFilter::allowing(&[net("10.0.0.0/8")]);

        assert!(all.admits(net("0.0.0.0/0")) && all.admits(net("fd00::1/128")));
        assert!(some.admits(net("10.1.0.0/16")) && !some.admits(net("fd00::1/128")));
    }
}

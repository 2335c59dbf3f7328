//! A list of prefixes: what is let through and what is not.

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
    /// Both.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of a prefix.
    pub fn of(net: IpNet) -> Self {
        match net {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }

    /// The prefix of everything.
    pub fn everything(self) -> IpNet {
        let text = match self {
            Self::V4 => "0.0.0.0/0",
            Self::V6 => "::/0",
        };
        text.parse().expect("a prefix")
    }
}

/// One line: prefixes within `net` whose length is in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixRule {
    /// Whether they are let through.
    pub permit: bool,
    /// What they are within.
    pub net: IpNet,
    /// The least length.
    pub least: u8,
    /// The greatest length.
    pub most: u8,
}

impl PrefixRule {
    /// The prefix itself and all within it.
    pub fn within(permit: bool, net: IpNet) -> Self {
        Self { permit, net, least: net.prefix_len(), most: net.max_prefix_len() }
    }

    /// The prefix itself.
    pub fn exactly(permit: bool, net: IpNet) -> Self {
        Self { permit, net, least: net.prefix_len(), most: net.prefix_len() }
    }

    /// The single addresses within the prefix.
    pub fn hosts(permit: bool, net: IpNet) -> Self {
        Self { permit, net, least: net.max_prefix_len(), most: net.max_prefix_len() }
    }

    fn matches(&self, net: IpNet) -> bool {
        self.net.contains(&net) && (self.least..=self.most).contains(&net.prefix_len())
    }
}

/// Terms, of which the first that matches decides. What none matches is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixFilter(pub Vec<PrefixRule>);

impl PrefixFilter {
    /// Everything within these prefixes; everything at all when there are none.
    pub fn allowing(nets: &[IpNet]) -> Self {
        if nets.is_empty() {
            return Self(Family::ALL.map(|family| PrefixRule::within(true, family.everything())).to_vec());
        }
        Self(nets.iter().map(|net| PrefixRule::within(true, *net)).collect())
    }

    /// Whether a prefix is let through.
    pub fn admits(&self, net: IpNet) -> bool {
        self.0.iter().find(|term| term.matches(net)).is_some_and(|term| term.permit)
    }

    /// The terms of one family.
    pub fn of(&self, family: Family) -> impl Iterator<Item = &PrefixRule> {
        self.0.iter().filter(move |term| Family::of(term.net) == family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    #[test]
    fn the_first_term_that_matches_decides() {
        let filter = PrefixFilter(vec![
            PrefixRule::exactly(false, net("0.0.0.0/0")),
            PrefixRule::within(true, net("0.0.0.0/0")),
        ]);

        assert!(!filter.admits(net("0.0.0.0/0")));
        assert!(filter.admits(net("10.0.0.0/8")));
        assert!(!filter.admits(net("::/0")), "what no term matches is refused");
    }

    #[test]
    fn hosts_are_single_addresses() {
        let filter = PrefixFilter(vec![PrefixRule::hosts(true, net("10.0.0.0/24"))]);

        assert!(filter.admits(net("10.0.0.7/32")));
        assert!(!filter.admits(net("10.0.0.0/25")));
        assert!(!filter.admits(net("10.0.1.7/32")));
    }

    #[test]
    fn no_prefixes_allow_everything() {
        let all = PrefixFilter::allowing(&[]);
        let some = PrefixFilter::allowing(&[net("10.0.0.0/8")]);

        assert!(all.admits(net("0.0.0.0/0")) && all.admits(net("fd00::1/128")));
        assert!(some.admits(net("10.1.0.0/16")) && !some.admits(net("fd00::1/128")));
    }
}

//! FRR's daemons, and the lines that each accepts.

use std::fmt;

use super::context::{Context, starts_with_words};
use super::line::Line;

/// A daemon of FRR that a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrrDaemon {
    /// Holds the configuration of daemons without their own, from FRR 9 on.
    Mgmtd,
    /// Interfaces and kernel routes.
    Zebra,
    /// BFD.
    Bfdd,
    /// Static routes.
    Staticd,
    /// BGP.
    Bgpd,
}

/// Statements in route map entries that zebra or mgmtd accepts.
const SHARED: [&str; 20] = [
    "call",
    "description",
    "match interface",
    "match ip address",
    "match ip next-hop",
    "match ipv6 address",
    "match ipv6 next-hop",
    "match metric",
    "match source-instance",
    "match source-protocol",
    "match tag",
    "on-match",
    "set ip next-hop",
    "set ipv6 next-hop local",
    "set max-metric",
    "set metric",
    "set min-metric",
    "set sr-te",
    "set src",
    "set tag",
];

/// Those of them that bgpd does not know.
const NOT_BGPD: [&str; 5] = [
    "match ip address prefix-len",
    "match ipv6 address prefix-len",
    "match source-instance",
    "set max-metric",
    "set src",
];

/// Statements that start like a shared one but belong to bgpd only.
const BGPD_ONLY: [&str; 3] =
    ["match ip next-hop address", "set ip next-hop peer-address", "set ip next-hop unchanged"];

/// Top-level lines for bgpd only.
const BGPD: [&str; 3] = ["bgp", "router bgp", "debug bgp"];

const LISTS: [&str; 4] = ["access-list", "ip prefix-list", "ipv6 access-list", "ipv6 prefix-list"];

/// The line for every daemon.
const ALL: &str = "frr defaults";

const ROUTES: [&str; 2] = ["ip route", "ipv6 route"];

/// Top-level lines about interfaces and the kernel.
const KERNEL: [&str; 9] = [
    "interface",
    "ip nht",
    "ip protocol",
    "ip router-id",
    "ipv6 nht",
    "ipv6 protocol",
    "ipv6 router-id",
    "debug zebra",
    "vrf",
];

impl FrrDaemon {
    /// The daemons of a release, in the order in which they are configured.
    pub fn in_release(version: (u16, u16)) -> &'static [Self] {
        const DAEMONS: [FrrDaemon; 5] =
            [FrrDaemon::Mgmtd, FrrDaemon::Zebra, FrrDaemon::Bfdd, FrrDaemon::Staticd, FrrDaemon::Bgpd];
        if version.0 >= 9 { &DAEMONS } else { &DAEMONS[1..] }
    }

    /// The name of its program, and of its socket before `.vty`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mgmtd => "mgmtd",
            Self::Zebra => "zebra",
            Self::Bfdd => "bfdd",
            Self::Staticd => "staticd",
            Self::Bgpd => "bgpd",
        }
    }

    /// Whether this daemon of a release accepts a line. A line that all of them accept, such as `frr defaults`, is sent
    /// to all.
    pub fn accepts(self, version: (u16, u16), line: &Line) -> bool {
        let keeper = if version.0 >= 10 { Self::Mgmtd } else { Self::Zebra };
        let router = if version.0 >= 9 { Self::Mgmtd } else { Self::Staticd };
        let first = line.above.first().unwrap_or(&line.text);
        let first = first.strip_prefix("no ").unwrap_or(first);
        let starts_with_any =
            |starting: &[&str]| starting.iter().any(|start| starts_with_words(first, start));
        if starts_with_any(&LISTS) {
            return self == keeper || self == Self::Bgpd || (self == Self::Bfdd && version < (10, 7));
        }
        if starts_with_any(&ROUTES) {
            return self == router;
        }
        if starts_with_words(first, "route-map") {
            return (self == keeper && keeper_accepts(line))
                || (self == Self::Bgpd && bgpd_accepts(line, version));
        }
        if starts_with_words(first, "vrf") {
            let route = ROUTES.iter().any(|start| starts_with_words(&line.text, start));
            return match line.within() {
                None => self == keeper || self == router,
                Some(_) => self == if route { router } else { keeper },
            };
        }
        if starts_with_any(&KERNEL) {
            return self == keeper;
        }
        if starts_with_words(first, "bfd") {
            return self == Self::Bfdd;
        }
        if starts_with_words(first, "key") {
            return self == Self::Mgmtd;
        }
        if starts_with_any(&BGPD) {
            return self == Self::Bgpd;
        }
        if starts_with_words(first, "log") {
            // From FRR 10.5 on mgmtd keeps them for zebra and staticd, which reject them. bgpd and bfdd accept them,
            // but do not show them in the running configuration (seen on 10.7), so they could be neither verified nor
            // removed.
            return version < (10, 5) || self == Self::Mgmtd;
        }
        starts_with_words(first, ALL)
    }
}

fn keeper_accepts(line: &Line) -> bool {
    let starts_with_any =
        |starting: &[&str]| starting.iter().any(|start| starts_with_words(&line.text, start));
    line.within() != Some(Context::RouteMap) || (starts_with_any(&SHARED) && !starts_with_any(&BGPD_ONLY))
}

fn bgpd_accepts(line: &Line, version: (u16, u16)) -> bool {
    let newer = version.0 < 10 && starts_with_words(&line.text, "match source-protocol");
    line.within() != Some(Context::RouteMap)
        || !(newer || NOT_BGPD.iter().any(|start| starts_with_words(&line.text, start)))
}

impl fmt::Display for FrrDaemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_settings_go_to_mgmtd_only_from_frr_10_5_on() {
        let line = Line::top("log syslog informational");
        let accepting = |version| {
            FrrDaemon::in_release(version).iter().filter(|daemon| daemon.accepts(version, &line)).count()
        };

        assert_eq!([(8, 4), (10, 3), (10, 4)].map(accepting), [4, 5, 5]);
        assert_eq!([(10, 5), (10, 7)].map(accepting), [1, 1]);
        assert!(FrrDaemon::Mgmtd.accepts((10, 5), &line));
    }
}

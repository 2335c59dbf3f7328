//! FRR's daemons, and what each is told.

use std::fmt;

use super::context::{Context, starts};
use super::line::Line;

/// A daemon of FRR that a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrrDaemon {
    /// Keeps the configuration of those that have none of their own, from FRR 9 on.
    Mgmtd,
    /// Ports and the kernel's routes.
    Zebra,
    /// BFD.
    Bfdd,
    /// Static routes.
    Staticd,
    /// BGP.
    Bgpd,
}

/// What the entries of route maps can say in zebra or mgmtd.
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

/// Of these, what bgpd does not know.
const NOT_BGPD: [&str; 5] = [
    "match ip address prefix-len",
    "match ipv6 address prefix-len",
    "match source-instance",
    "set max-metric",
    "set src",
];

/// What starts like a shared line and is bgpd's alone.
const BGPD_ALONE: [&str; 3] =
    ["match ip next-hop address", "set ip next-hop peer-address", "set ip next-hop unchanged"];

/// Lines at the top that bgpd is told, and nobody else.
const BGPD: [&str; 3] = ["bgp", "router bgp", "debug bgp"];

const LISTS: [&str; 4] = ["access-list", "ip prefix-list", "ipv6 access-list", "ipv6 prefix-list"];

/// The line that every daemon is told.
const ALL: &str = "frr defaults";

const ROUTES: [&str; 2] = ["ip route", "ipv6 route"];

/// Lines at the top about ports and the kernel.
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
    /// The daemons of a release, in the order in which they are told.
    pub fn of(version: (u16, u16)) -> &'static [Self] {
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

    /// Whether this daemon of a release is told a line. What all of them take, such as `frr defaults`, all are told.
    pub fn takes(self, version: (u16, u16), line: &Line) -> bool {
        let keeper = if version.0 >= 10 { Self::Mgmtd } else { Self::Zebra };
        let router = if version.0 >= 9 { Self::Mgmtd } else { Self::Staticd };
        let first = line.above.first().unwrap_or(&line.text);
        let first = first.strip_prefix("no ").unwrap_or(first);
        let any = |starting: &[&str]| starting.iter().any(|start| starts(first, start));
        if any(&LISTS) {
            return self == keeper || self == Self::Bgpd || (self == Self::Bfdd && version < (10, 7));
        }
        if any(&ROUTES) {
            return self == router;
        }
        if starts(first, "route-map") {
            return (self == keeper && of_keeper(line)) || (self == Self::Bgpd && of_bgpd(line, version));
        }
        if starts(first, "vrf") {
            let route = ROUTES.iter().any(|start| starts(&line.text, start));
            return match line.within() {
                None => self == keeper || self == router,
                Some(_) => self == if route { router } else { keeper },
            };
        }
        if any(&KERNEL) {
            return self == keeper;
        }
        if starts(first, "bfd") {
            return self == Self::Bfdd;
        }
        if starts(first, "key") {
            return self == Self::Mgmtd;
        }
        if any(&BGPD) {
            return self == Self::Bgpd;
        }
        if starts(first, "log") {
            // From FRR 10.5 on mgmtd keeps them for zebra and staticd, which refuse them. bgpd and bfdd take them, but do not show them
            // among what runs (seen on 10.7), so nobody could say whether they have them, nor take them back.
            return version < (10, 5) || self == Self::Mgmtd;
        }
        starts(first, ALL)
    }
}

fn of_keeper(line: &Line) -> bool {
    let any = |starting: &[&str]| starting.iter().any(|start| starts(&line.text, start));
    line.within() != Some(Context::RouteMap) || (any(&SHARED) && !any(&BGPD_ALONE))
}

fn of_bgpd(line: &Line, version: (u16, u16)) -> bool {
    let newer = version.0 < 10 && starts(&line.text, "match source-protocol");
    line.within() != Some(Context::RouteMap)
        || !(newer || NOT_BGPD.iter().any(|start| starts(&line.text, start)))
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
    fn of_logs_mgmtd_alone_is_told_from_frr_10_5_on() {
        let line = Line::top("log syslog informational");
        let told =
            |version| FrrDaemon::of(version).iter().filter(|daemon| daemon.takes(version, &line)).count();

        assert_eq!([(8, 4), (10, 3), (10, 4)].map(told), [4, 5, 5]);
        assert_eq!([(10, 5), (10, 7)].map(told), [1, 1]);
        assert!(FrrDaemon::Mgmtd.takes((10, 5), &line));
    }
}

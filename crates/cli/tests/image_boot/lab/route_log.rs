//! When leafs deleted and added the routes to a node, as their kernels report it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::pair::PREFIXES;
use ichor_testbed::lab::LabMachine;

const DAY: f64 = 86_400.0;

/// zebra replaces an IPv6 route by deleting and adding it.
const REPLACEMENT: f64 = 0.05;

/// Kernel routes of leafs, logged until it is dropped.
pub struct RouteLog<'l> {
    leafs: &'l [LabMachine; 2],
    start: f64,
}

/// A time in which a leaf had no route.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    start: f64,
    /// None if the route did not return.
    end: Option<f64>,
}

impl<'l> RouteLog<'l> {
    /// Starts logging.
    pub fn start(leafs: &'l [LabMachine; 2]) -> Self {
        for leaf in leafs {
            leaf.ask("TZ=UTC ip -o -ts monitor route >/tmp/route-log 2>&1 & echo $! >/tmp/route-log.pid; sleep 0.2");
        }
        Self { leafs, start: second_of_day(SystemTime::now()) }
    }

    /// Time from the start until now.
    pub fn elapsed(&self) -> Duration {
        let now = second_of_day(SystemTime::now());
        Duration::from_secs_f64((now - self.start).rem_euclid(DAY))
    }

    fn lines(&self) -> [String; 2] {
        self.leafs.each_ref().map(|leaf| leaf.ask("cat /tmp/route-log"))
    }

    /// The longest time in which a leaf had no route to a prefix, which every leaf must have again; 0 if none was deleted.
    pub fn longest_gap(&self) -> Duration {
        let gaps = self.lines().map(|log| PREFIXES.map(|prefix| gaps(&log, prefix)));
        let length = |gap: Gap| {
            let end = gap.end.unwrap_or_else(|| panic!("a route did not return: {gaps:?}"));
            (end - gap.start).rem_euclid(DAY)
        };
        let lengths = gaps.iter().flatten().flatten().map(|gap| length(*gap));
        Duration::from_secs_f64(lengths.filter(|length| *length > REPLACEMENT).fold(0.0, f64::max))
    }
}

impl Drop for RouteLog<'_> {
    fn drop(&mut self) {
        for leaf in self.leafs {
            leaf.run("kill $(cat /tmp/route-log.pid)");
        }
    }
}

fn second_of_day(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs_f64().rem_euclid(DAY)
}

/// The gaps of a route from BGP in the output of `ip -o -ts monitor route`.
fn gaps(log: &str, prefix: &str) -> Vec<Gap> {
    let mut found: Vec<Gap> = Vec::new();
    for line in log.lines().filter(|line| line.contains("proto bgp")) {
        let Some((time, change)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) else {
            continue;
        };
        let time = time.split_once('T').unwrap().1;
        let time = time.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap());
        let (is_deleted, route) = match change.strip_prefix("Deleted ") {
            Some(route) => (true, route),
            None => (false, change),
        };
        if !route.starts_with(&format!("{prefix} ")) {
            continue;
        }
        match found.last_mut().filter(|gap| gap.end.is_none()) {
            Some(gap) if !is_deleted => gap.end = Some(time),
            None if is_deleted => found.push(Gap { start: time, end: None }),
            _ => {}
        }
    }
    found
}

#[test]
fn gaps_of_a_route_are_read_from_the_log_of_ip() {
    let log = "[2026-11-19T23:59:58.500000] Deleted 10.12.10.1 nhid 8 via inet6 fe80::1 dev swp1 proto bgp metric 20 \n\
        [2026-11-19T23:59:59.000000] Deleted 10.12.10.10 via inet6 fe80::1 dev swp1 proto bgp metric 20 \n\
        [2026-11-20T00:00:01.250000] 10.12.10.1 nhid 9 via inet6 fe80::1 dev swp1 proto bgp metric 20 \n\
        [2026-11-20T00:00:02.000000] Deleted 10.12.10.1 nhid 9 via inet6 fe80::1 dev swp1 proto bgp metric 20 \n";

    let found = gaps(log, "10.12.10.1");

    assert_eq!(found, [Gap { start: 86_398.5, end: Some(1.25) }, Gap { start: 2.0, end: None }]);
}

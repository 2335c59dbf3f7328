//! How long neighbours take to find by BFD that a daemon is silent, as the daemon's configuration tells (RFC 5880, section 6.8.4).
//!
//! It is the longest time of neighbours that have the same settings. One that asks for fewer packets takes longer, and that is not
//! known here.

use std::time::Duration;

use crate::reload::FrrConfig;

/// What a configuration says about BFD: every interval between packets, and every number of them that may be lost.
#[derive(Default)]
struct BfdSettings {
    intervals: Vec<Duration>,
    multipliers: Vec<u32>,
}

impl BfdSettings {
    /// The longest detection, with what the daemon does where nothing is said.
    fn longest(self, interval: Duration, multiplier: u32) -> Duration {
        let interval = self.intervals.into_iter().max().unwrap_or(interval);
        interval.saturating_mul(self.multipliers.into_iter().max().unwrap_or(multiplier))
    }
}

/// That of FRR, whose BFD is a daemon of its own.
pub fn frr(configuration: &FrrConfig) -> Duration {
    let mut said = BfdSettings::default();
    for line in configuration.lines() {
        match line.words()[..] {
            ["transmit-interval", number] => said.intervals.extend(time(number, "ms")),
            ["detect-multiplier", number] => said.multipliers.extend(number.parse::<u32>()),
            _ => {}
        }
    }
    said.longest(Duration::from_millis(300), 3)
}

/// That of BIRD; none where it has no BFD.
pub fn bird(text: &str) -> Option<Duration> {
    let (mut said, mut has_bfd) = (BfdSettings::default(), false);
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    for statement in lines.flat_map(|line| line.split(['{', '}', ';'])) {
        match statement.split_whitespace().collect::<Vec<_>>()[..] {
            ["protocol", "bfd", ..] => has_bfd = true,
            ["interval", number, unit] | ["min", "tx", "interval", number, unit] => {
                said.intervals.extend(time(number, unit));
            }
            ["multiplier", number] => said.multipliers.extend(number.parse::<u32>()),
            _ => {}
        }
    }
    has_bfd.then(|| said.longest(Duration::from_millis(100), 5))
}

/// That of GoBGP; none where no neighbour has BFD.
pub fn gobgp(toml: &str) -> Option<Duration> {
    let (mut said, mut has_bfd, mut is_about_bfd) = (BfdSettings::default(), false, false);
    for line in toml.lines().map(str::trim) {
        if line.starts_with('[') {
            is_about_bfd = line.trim_matches(['[', ']']).ends_with(".bfd.config");
        }
        match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("enabled", value)) if is_about_bfd => has_bfd |= value == "true",
            Some(("desired-minimum-tx-interval", value)) => said.intervals.extend(time(value, "us")),
            Some(("detection-multiplier", value)) => said.multipliers.extend(value.parse::<u32>()),
            _ => {}
        }
    }
    has_bfd.then(|| said.longest(Duration::from_secs(1), 3))
}

fn time(number: &str, unit: &str) -> Option<Duration> {
    let number = number.parse().ok()?;
    match unit {
        "s" => Some(Duration::from_secs(number)),
        "ms" => Some(Duration::from_millis(number)),
        "us" => Some(Duration::from_micros(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_frr_it_is_the_longest_of_all_profiles() {
        let text = "bfd\n profile slow\n  detect-multiplier 4\n  transmit-interval 500\n exit\n profile quick\n  \
                    detect-multiplier 3\n  transmit-interval 100\n exit\nexit\n";

        let found = frr(&FrrConfig::parse(text));

        assert_eq!(found, Duration::from_secs(2));
    }

    #[test]
    fn without_a_word_it_is_that_of_frr() {
        let found = frr(&FrrConfig::parse("router bgp 65001\n neighbor eth0 bfd\nexit\n"));

        assert_eq!(found, Duration::from_millis(900));
    }

    #[test]
    fn of_bird_it_is_the_longest_of_all_sessions() {
        let sessions = "protocol bfd bfd_fabric {\n  accept direct;\n}\nprotocol bgp 'fabric-eth0' {\n  bfd {\n    interval 400 ms;\n    \
                        multiplier 4;\n  };\n}\nprotocol bgp 'fabric-eth1' { bfd { min tx interval 200 ms; multiplier 3; }; }\n";
        let others = "protocol radv { interface \"eth0\" { max ra interval 10; }; }\n# interval 9 s;\n";

        assert_eq!(bird(&format!("{sessions}{others}")), Some(Duration::from_millis(1600)));
        assert_eq!(bird("protocol bfd { }\n"), Some(Duration::from_millis(500)));
        assert_eq!(bird(others), None);
    }

    #[test]
    fn of_gobgp_it_is_the_longest_of_all_neighbours() {
        let bfd = "[[neighbors]]\n  [neighbors.bfd.config]\n    enabled = true\n";
        let written = "    desired-minimum-tx-interval = 300000\n    detection-multiplier = 3\n";
        let without = "[neighbors.graceful-restart.config]\n  enabled = true\n";

        assert_eq!(gobgp(&format!("{bfd}{written}{without}")), Some(Duration::from_millis(900)));
        assert_eq!(gobgp(bfd), Some(Duration::from_secs(3)));
        assert_eq!(gobgp(without), None);
    }
}

//! How long neighbours take to detect a silent daemon by BFD, according to the daemon's configuration (RFC 5880,
//! section 6.8.4).
//!
//! This is the longest detection time of neighbours with the same settings. A neighbour that asks for fewer packets
//! takes longer, which is unknown here.

use std::time::Duration;

use crate::reload::FrrConfig;

/// The BFD settings of a configuration: every transmit interval and every detection multiplier.
#[derive(Default)]
struct BfdSettings {
    intervals: Vec<Duration>,
    multipliers: Vec<u32>,
}

impl BfdSettings {
    /// The longest detection time; the arguments are the daemon's defaults.
    fn longest(self, interval: Duration, multiplier: u32) -> Duration {
        let interval = self.intervals.into_iter().max().unwrap_or(interval);
        interval.saturating_mul(self.multipliers.into_iter().max().unwrap_or(multiplier))
    }
}

/// The detection time of FRR, whose BFD is a separate daemon.
pub fn frr_detection_time(configuration: &FrrConfig) -> Duration {
    let mut settings = BfdSettings::default();
    for line in configuration.lines() {
        match line.words()[..] {
            ["transmit-interval", number] => settings.intervals.extend(parse_duration(number, "ms")),
            ["detect-multiplier", number] => settings.multipliers.extend(number.parse::<u32>()),
            _ => {}
        }
    }
    settings.longest(Duration::from_millis(300), 3)
}

/// The detection time of BIRD; none without BFD.
pub fn bird_detection_time(text: &str) -> Option<Duration> {
    let (mut settings, mut has_bfd) = (BfdSettings::default(), false);
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    for statement in lines.flat_map(|line| line.split(['{', '}', ';'])) {
        match statement.split_whitespace().collect::<Vec<_>>()[..] {
            ["protocol", "bfd", ..] => has_bfd = true,
            ["interval", number, unit] | ["min", "tx", "interval", number, unit] => {
                settings.intervals.extend(parse_duration(number, unit));
            }
            ["multiplier", number] => settings.multipliers.extend(number.parse::<u32>()),
            _ => {}
        }
    }
    has_bfd.then(|| settings.longest(Duration::from_millis(100), 5))
}

/// The detection time of GoBGP; none if no neighbour has BFD.
pub fn gobgp_detection_time(toml: &str) -> Option<Duration> {
    let (mut settings, mut has_bfd, mut in_bfd_table) = (BfdSettings::default(), false, false);
    for line in toml.lines().map(str::trim) {
        if line.starts_with('[') {
            in_bfd_table = line.trim_matches(['[', ']']).ends_with(".bfd.config");
        }
        match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("enabled", value)) if in_bfd_table => has_bfd |= value == "true",
            Some(("desired-minimum-tx-interval", value)) => {
                settings.intervals.extend(parse_duration(value, "us"));
            }
            Some(("detection-multiplier", value)) => settings.multipliers.extend(value.parse::<u32>()),
            _ => {}
        }
    }
    has_bfd.then(|| settings.longest(Duration::from_secs(1), 3))
}

fn parse_duration(number: &str, unit: &str) -> Option<Duration> {
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
    fn the_detection_time_of_frr_is_the_longest_of_all_profiles() {
        let text = "bfd\n profile slow\n  detect-multiplier 4\n  transmit-interval 500\n exit\n profile quick\n  \
                    detect-multiplier 3\n  transmit-interval 100\n exit\nexit\n";

        let found = frr_detection_time(&FrrConfig::parse(text));

        assert_eq!(found, Duration::from_secs(2));
    }

    #[test]
    fn the_detection_time_without_settings_is_the_default_of_frr() {
        let found = frr_detection_time(&FrrConfig::parse("router bgp 65001\n neighbor eth0 bfd\nexit\n"));

        assert_eq!(found, Duration::from_millis(900));
    }

    #[test]
    fn the_detection_time_of_bird_is_the_longest_of_all_sessions() {
        let sessions = "protocol bfd bfd_fabric {\n  accept direct;\n}\nprotocol bgp 'fabric-eth0' {\n  bfd {\n    interval 400 ms;\n    \
                        multiplier 4;\n  };\n}\nprotocol bgp 'fabric-eth1' { bfd { min tx interval 200 ms; multiplier 3; }; }\n";
        let others = "protocol radv { interface \"eth0\" { max ra interval 10; }; }\n# interval 9 s;\n";

        assert_eq!(bird_detection_time(&format!("{sessions}{others}")), Some(Duration::from_millis(1600)));
        assert_eq!(bird_detection_time("protocol bfd { }\n"), Some(Duration::from_millis(500)));
        assert_eq!(bird_detection_time(others), None);
    }

    #[test]
    fn the_detection_time_of_gobgp_is_the_longest_of_all_neighbours() {
        let bfd = "[[neighbors]]\n  [neighbors.bfd.config]\n    enabled = true\n";
        let written = "    desired-minimum-tx-interval = 300000\n    detection-multiplier = 3\n";
        let without = "[neighbors.graceful-restart.config]\n  enabled = true\n";

        assert_eq!(
            gobgp_detection_time(&format!("{bfd}{written}{without}")),
            Some(Duration::from_millis(900))
        );
        assert_eq!(gobgp_detection_time(bfd), Some(Duration::from_secs(3)));
        assert_eq!(gobgp_detection_time(without), None);
    }
}

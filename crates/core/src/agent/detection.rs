//! How long neighbours take to find by BFD that FRR is silent.

use std::time::Duration;

use crate::reload::Configuration;

/// FRR's own, where a configuration says nothing.
const MULTIPLIER: u32 = 3;
const INTERVAL: u32 = 300;

/// The longest time until a neighbour with the same settings finds the node silent (RFC 5880, section 6.8.4).
///
/// A neighbour that asks for fewer packets takes longer. That is not known here.
pub fn detection(configuration: &Configuration) -> Duration {
    let most = |key: &str, otherwise: u32| {
        let said = configuration.lines().iter().filter_map(|line| match line.words()[..] {
            [word, number] if word == key => number.parse().ok(),
            _ => None,
        });
        said.max().unwrap_or(otherwise)
    };
    let interval = most("transmit-interval", INTERVAL);
    Duration::from_millis(u64::from(interval) * u64::from(most("detect-multiplier", MULTIPLIER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_longest_of_all_profiles() {
        let text = "bfd\n profile slow\n  detect-multiplier 4\n  transmit-interval 500\n exit\n profile quick\n  \
                    detect-multiplier 3\n  transmit-interval 100\n exit\nexit\n";

        let found = detection(&Configuration::parse(text));

        assert_eq!(found, Duration::from_secs(2));
    }

    #[test]
    fn without_a_word_it_is_that_of_frr() {
        let found = detection(&Configuration::parse("router bgp 65001\n neighbor eth0 bfd\nexit\n"));

        assert_eq!(found, Duration::from_millis(900));
    }
}

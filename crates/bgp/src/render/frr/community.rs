//! Communities as FRR prints them: in the order of their numbers, without duplicates, by name if they have one.

use ichor_values::Community;

/// The well-known communities, by the second half of their number; the first is 65535.
const NAMED: [(u32, &str); 14] = [
    (0, "graceful-shutdown"),
    (1, "accept-own"),
    (2, "route-filter-translated-v4"),
    (3, "route-filter-v4"),
    (4, "route-filter-translated-v6"),
    (5, "route-filter-v6"),
    (6, "llgr-stale"),
    (7, "no-llgr"),
    (8, "accept-own-nexthop"),
    (666, "blackhole"),
    (65281, "no-export"),
    (65282, "no-advertise"),
    (65283, "local-AS"),
    (65284, "no-peer"),
];

/// The standard and the large communities, each as the value of a `set` line; none without communities.
pub fn words(communities: &[Community]) -> (Option<String>, Option<String>) {
    let mut all: Vec<_> = communities.iter().map(numbers).collect();
    all.sort();
    all.dedup();
    let (large, plain): (Vec<_>, Vec<_>) = all.into_iter().partition(|numbers| numbers.len() == 3);
    let join = |list: Vec<Vec<u32>>| {
        (!list.is_empty()).then(|| list.iter().map(|numbers| word(numbers)).collect::<Vec<_>>().join(" "))
    };
    (join(plain), join(large))
}

fn numbers(community: &Community) -> Vec<u32> {
    let text = community.as_str();
    let named = NAMED.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
    let written = || text.split(':').filter_map(|part| part.parse().ok()).collect();
    named.map_or_else(written, |(number, _)| vec![65535, *number])
}

fn word(numbers: &[u32]) -> String {
    let named = NAMED.iter().find(|(second, _)| numbers == [65535, *second]);
    let written = || numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(":");
    named.map_or_else(written, |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_in_any_order_are_rendered_as_frr_prints_them() {
        let texts =
            ["no-peer", "65000:2", "local-as", "1:2:3", "065000:01", "65535:65281", "no-export", "1:02:2"];
        let communities = texts.map(|text| Community::parse(text).unwrap());

        let (plain, large) = words(&communities);

        assert_eq!(plain.as_deref(), Some("65000:1 65000:2 no-export local-AS no-peer"));
        assert_eq!(large.as_deref(), Some("1:2:2 1:2:3"));
        assert_eq!(words(&[]), (None, None));
    }
}

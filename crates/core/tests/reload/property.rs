//! Invariants of every pair of configurations, without a daemon: a few rules simulate FRR.

use ichor_bgp::reload::{ConfigChange, FrrConfig, Line, compare, difference};
use ichor_values::Backend;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use ichor_testbed::random::{RandomCluster, holds_for_pairs};

/// Lines that are removed by their beginning.
const SHORT: [&str; 3] = ["description", "on-match goto", "set as-path prepend"];

/// The configuration of a daemon after one more command.
fn apply_change(running: &FrrConfig, change: &ConfigChange) -> FrrConfig {
    let mut lines = running.lines().to_vec();
    let before = lines.len();
    lines.retain(|line| !takes_back(&change.line, line));
    if lines.len() == before {
        lines.push(change.line.clone());
    }
    let text = |line: &Line| format!("end\n{}\n{}\n", line.above.join("\n"), line.text);
    FrrConfig::parse(&lines.iter().map(text).collect::<String>())
}

fn takes_back(applied: &Line, line: &Line) -> bool {
    let Some(gone) = applied.text.strip_prefix("no ") else {
        let restored = line.text == format!("no {}", applied.text)
            || (applied.text.ends_with(" interface") && line.text == format!("{} v6only", applied.text));
        return restored && same_context(&applied.above, &line.above);
    };
    let short = SHORT.contains(&gone) && line.text.starts_with(&format!("{gone} "));
    let itself = same_context(&applied.above, &line.above) && (line.text == gone || short);
    let below = line.above.len() > applied.above.len()
        && same_context(&applied.above, &line.above[..applied.above.len()])
        && line.above[applied.above.len()] == gone;
    let words: Vec<_> = gone.split(' ').collect();
    let complete = match words.as_slice() {
        ["neighbor", name] | ["neighbor", name, "peer-group"] => {
            line.above.first() == applied.above.first() && line.text.split(' ').nth(1) == Some(name)
        }
        _ => false,
    };
    itself || below || (complete && line.text.starts_with("neighbor "))
}

/// An entry of a route map is the same whether it permits or denies.
fn same_context(one: &[String], other: &[String]) -> bool {
    let plain =
        |above: &[String]| above.iter().map(|it| it.replace(" deny ", " permit ")).collect::<Vec<_>>();
    plain(one) == plain(other)
}

/// Lists and maps in use: each as the start of its lines.
fn used(conf: &FrrConfig) -> Vec<String> {
    let of = |line: &Line| {
        let words: Vec<_> = line.text.split(' ').collect();
        match words.as_slice() {
            [.., "route-map", name, "in" | "out"] | ["table-map", name] => Some(format!("route-map {name} ")),
            [first, .., "route-map", name] if *first != "no" => Some(format!("route-map {name} ")),
            ["match", ip, "address", "prefix-list", name] => Some(format!("{ip} prefix-list {name} ")),
            ["match", "as-path", name] => Some(format!("bgp as-path access-list {name} ")),
            _ => None,
        }
    };
    conf.lines().iter().filter_map(of).collect()
}

/// Entries that permit everything.
fn open(conf: &FrrConfig) -> Vec<String> {
    let entries = conf
        .lines()
        .iter()
        .filter(|line| line.text.starts_with("route-map ") && line.text.contains(" permit "));
    let matches = |head: &Line| {
        conf.lines()
            .iter()
            .any(|line| line.above.first() == Some(&head.text) && line.text.starts_with("match "))
    };
    entries.filter(|head| !matches(head)).map(|head| head.text.clone()).collect()
}

fn confs(random: &RandomCluster) -> Result<Vec<FrrConfig>, TestCaseError> {
    let applied = random.render_nodes()?;
    Ok(applied.iter().map(|applied| FrrConfig::parse(&applied.service.files[0].text)).collect())
}

/// Turns one configuration into another and checks every step.
fn walk(from: &FrrConfig, to: &FrrConfig) -> Result<(), TestCaseError> {
    let intended = [open(from), open(to)].concat();
    let mut now = from.clone();
    for change in difference(from, to) {
        now = apply_change(&now, &change);
        let uses = used(&now);
        for start in &uses {
            let there = now.lines().iter().any(|line| line.text.starts_with(start));
            prop_assert!(there, "{} is used and not there after {}", start, change.line);
        }
        for entry in open(&now).into_iter().filter(|entry| !intended.contains(entry)) {
            let map = entry.split(' ').nth(1).unwrap_or_default();
            prop_assert!(
                !uses.contains(&format!("route-map {map} ")),
                "{} is open after {}",
                entry,
                change.line
            );
        }
    }
    let found = compare(&now, to);
    prop_assert!(found.is_same(), "{:#?}", found);
    Ok(())
}

#[test]
fn reloads_between_clusters_never_lack_or_open_a_filter() {
    holds_for_pairs(2, Backend::Frr, |one, other| {
        let all = [confs(one)?, confs(other)?].concat();
        for (from, to) in all.iter().zip(all.iter().skip(1)) {
            walk(from, to)?;
            walk(&FrrConfig::default(), to)?;
        }
        Ok(())
    });
}

#[test]
fn equal_configurations_need_no_change() {
    holds_for_pairs(30, Backend::Frr, |one, _| {
        for conf in confs(one)? {
            prop_assert_eq!(difference(&conf, &conf), []);
        }
        Ok(())
    });
}

proptest! {
    #[test]
    fn any_text_is_a_configuration(one in text(), other in text()) {
        let (one, other) = (FrrConfig::parse(&one), FrrConfig::parse(&other));

        prop_assert_eq!(difference(&one, &one), []);
        difference(&one, &other);
        prop_assert!(compare(&one, &one).is_same());
    }
}

/// Lines of valid words, in any order.
fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "router",
        "bgp",
        "65001",
        "vrf",
        "red",
        "neighbor",
        "eth0",
        "interface",
        "v6only",
        "remote-as",
        "external",
        "no",
        "exit",
        "address-family",
        "ipv4",
        "unicast",
        "route-map",
        "A",
        "permit",
        "deny",
        "10",
        "match",
        "set",
        "ip",
        "prefix-list",
        "seq",
        "5",
        "any",
        "10.0.0.1/8",
        "bfd",
        "profile",
        "peer-group",
        "activate",
        "redistribute",
        "connected",
        "import",
        "!",
        "end",
        "community",
        "additive",
        "route",
        "fd00::1",
        "on-match",
        "next",
        "description",
        "frr",
        "defaults",
        "key",
        "chain",
    ]);
    let line = prop::collection::vec(word, 0..7).prop_map(|words| words.join(" "));
    prop::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n"))
}

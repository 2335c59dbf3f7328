//! Properties of any configuration: its output reads back the same, and patching it never panics.

use std::fs;
use std::sync::OnceLock;

use ichor_talos::config::Config;
use ichor_talos::patch::Patch;
use ichor_talos::{encode, load};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit;
use proptest::prelude::*;

/// Words that mean something to go-yaml or to one of Talos' types.
const WORDS: [&str; 16] = [
    "true",
    "~",
    "\"\"",
    "0",
    "1.5",
    "2001-01-01",
    "0x1F",
    "[]",
    "{}",
    "[a, ~]",
    "{a: {b: 1}}",
    "10.0.0.1/8",
    "1m30s",
    "https://a:1",
    "<<",
    "'on'",
];

/// The configurations of the golden cases.
fn texts() -> &'static [String] {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let patches = ichor_testbed::cases("../../talos/tests/data/patches")
            .into_iter()
            .map(|case| case.join("base.yaml"));
        let clusters = ichor_testbed::cases("../../talos/tests/data/clusters")
            .into_iter()
            .map(|case| case.join("controlplane.yaml"));
        let texts: Vec<_> =
            patches.chain(clusters).filter_map(|path| fs::read_to_string(path).ok()).collect();
        assert!(texts.len() > 10, "the cases are not where they were");
        texts
    })
}

/// A text with some of its lines removed, repeated, or given another value.
fn mutated(text: &str, changes: &[(usize, usize)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (place, change) in changes {
        let place = place % lines.len().max(1);
        let Some(line) = lines.get_mut(place) else { continue };
        match change % (WORDS.len() + 2) {
            0 => {
                lines.remove(place);
            }
            1 => lines.insert(place, lines[place].clone()),
            nth => {
                let key = line.split_inclusive(": ").next().unwrap_or_default().trim_end().to_owned();
                *line = format!("{key} {}", WORDS[nth - 2]);
            }
        }
    }
    lines.join("\n")
}

fn written(config: &Config, talos: &TalosVersion) -> String {
    emit::emit_all(&encode::encode(config, talos))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_configuration_reads_the_same(
        nth in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<usize>(), any::<usize>()), 0..4),
        minor in 11..=14_u16,
    ) {
        let talos = TalosVersion::parse(&format!("v1.{minor}.0")).unwrap();
        let text = mutated(&texts()[nth.index(texts().len())], &changes);
        let Ok(config) = load::load(&text, &talos) else { return Ok(()) };

        let first = written(&config, &talos);
        // Talos cannot read its own output for an invalid protocol.
        prop_assume!(!first.contains("Protocol(0)"));
        let again = load::load(&first, &talos);

        prop_assert!(again.is_ok(), "{first}\n{again:?}");
        prop_assert_eq!(written(&again.unwrap(), &talos), first);
    }

    #[test]
    fn a_configuration_patched_with_itself_can_be_written(
        nth in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<usize>(), any::<usize>()), 0..4),
    ) {
        let talos = TalosVersion::parse("v1.14.0").unwrap();
        let text = &texts()[nth.index(texts().len())];
        let (Ok(mut config), Ok(patch)) =
            (load::load(text, &talos), Patch::read("patch", &mutated(text, &changes), &talos))
        else {
            return Ok(());
        };

        if patch.apply(&mut config, &talos).is_ok() {
            prop_assume!(!written(&config, &talos).contains("Protocol(0)"));
            prop_assert!(load::load(&written(&config, &talos), &talos).is_ok());
        }
    }
}

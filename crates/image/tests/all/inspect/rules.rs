//! Each rule of boot media, with something that trips it.

use std::collections::BTreeSet;
use std::path::Path;

use ichor_image::inspect::rules;
use ichor_image::inspect::{BootMedia, ConfigVolume, MediaProblem, inspect};
use ichor_image::media::{Volume, fat};
use ichor_image::oci::MemoryStore;
use ichor_talos::meta;
use ichor_talos::meta::Value;
use ichor_talos::schematic::Schematic;

use crate::inspect::disk;
use crate::inspect::images::{WORKER, inspected, machine, of_image};

fn folder(files: &[(&str, &str)]) -> BootMedia {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    BootMedia::of_folder(ConfigVolume::folder(files.collect()))
}

fn tripped(media: &BootMedia) -> Vec<&'static str> {
    inspected(media).mistakes.iter().map(|mistake| mistake.rule.id).collect()
}

fn line(text: &str) -> BootMedia {
    BootMedia::of_command_line(text)
}

fn schematic(text: &str) -> BootMedia {
    BootMedia::of_schematic(&Schematic::read(text).unwrap(), &machine("v1.13.9").talos).unwrap()
}

/// Media, and all the rules that they trip.
fn cases() -> Vec<(BootMedia, Vec<&'static str>)> {
    let image = |image: &Vec<u8>| BootMedia::of_image(image, &mut MemoryStore::default()).unwrap();
    let config = ("user-data", WORKER);
    let network = (
        "network-config",
        "version: 2\nethernets: {eth0: {match: {macaddress: 52-54-00-00-01-0b}, set-name: a}}\n",
    );
    let mut broken = disk::meta(&[(10, "a")]);
    for copy in [0, 256 << 10] {
        broken[copy + 9] ^= 1;
    }
    let carried = meta::encode(&[Value { key: 10, value: "addresses: [{flags: ''}]".to_owned() }], false);
    let carried = meta::kernel_argument(&carried);
    let dummy = "apiVersion: v1alpha1\nkind: DummyLinkConfig\nname: dummy0\n";
    let long = format!("talos.platform=metal x={}", "y".repeat(2047));
    let embedded = format!("customization: {{embeddedMachineConfiguration: {}}}", serde_json::json!(WORKER));
    let replaced = "customization: {extraKernelArgs: [talos.platform=nocloud], embeddedMachineConfiguration: \"apiVersion: v1alpha1\\nkind: \
                    HostnameConfig\\nauto: 'off'\\nhostname: a\\n\"}";
    let mut replaced = schematic(replaced);
    replaced.carriers.push(ConfigVolume::folder([("user-data".to_owned(), dummy_with_dhcp())].into()));
    vec![
        (image(&disk::stick("seed", &[config])), vec!["media-label"]),
        (image(&disk::short_stick("cidata", &[config])), vec!["media-small"]),
        (image(&disk::plain_cd("cidata", &[config])), vec!["media-names"]),
        (image(&disk::mbr(&disk::stick("cidata", &[config]))), vec!["media-mbr"]),
        (line("quiet"), vec!["media-no-platform"]),
        (line("talos.platform=bare"), vec!["media-platform-unknown"]),
        (line(&long), vec!["media-command-line-long"]),
        (line("talos.platform=metal ip=fe80::1::eth0"), vec!["media-ip"]),
        (folder(&[("user-data", "machine: {}\n")]), vec!["media-config-refused"]),
        (replaced, vec!["media-config-replaced"]),
        (line("talos.platform=nocloud talos.config=http://a"), vec!["media-config-unused"]),
        (folder(&[("user-data", "#cloud-config\n")]), vec!["media-cloud-config"]),
        (line("talos.platform=metal talos.config=http://a/${mac}"), vec!["media-url-variable"]),
        (folder(&[("network-config", "")]), vec!["media-network-config"]),
        (folder(&[("meta-data", "local-hostname: a\n")]), vec!["media-no-network-config"]),
        (folder(&[network]), vec!["media-link-missing", "media-passed-over"]),
        (line(&format!("talos.platform=metal {carried}")), vec!["media-meta-network"]),
        (line(&format!("talos.platform=nocloud {carried}")), vec!["media-meta-unused"]),
        (image(&disk::gpt(&[("META", broken)])), vec!["media-meta-broken"]),
        (folder(&[("user-data", dummy)]), vec!["media-no-address"]),
        (schematic(&embedded), vec!["media-secret-published"]),
    ]
}

fn dummy_with_dhcp() -> Vec<u8> {
    b"apiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth0\n".to_vec()
}

/// A mistake as `mistakes.txt` has it; `UPDATE_GOLDEN=1` rewrites that file.
fn described(mistake: &MediaProblem) -> String {
    let MediaProblem { rule, issue } = mistake;
    let help = issue.help.as_deref().unwrap_or_default();
    format!("{}[{}]\n  {}\n  fix: {help}\n\n", issue.severity, rule.id, issue.message)
}

#[test]
fn every_rule_has_media_that_trip_only_it() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut text = String::new();
    for (media, want) in cases() {
        let mistakes = inspected(&media).mistakes;
        text.extend(mistakes.iter().map(described));
        let mut got: Vec<_> = mistakes.iter().map(|mistake| mistake.rule.id).collect();
        got.sort_unstable();

        assert_eq!(got, want);
        seen.extend(want);
    }
    let talos = machine("v1.11.5");
    let schematic = Schematic::read("customization: {embeddedMachineConfiguration: 'a: b'}").unwrap();
    let media = BootMedia::of_schematic(&schematic, &talos.talos).unwrap();
    let early = inspect(&media, &talos).unwrap().mistakes;
    text.extend(early.iter().map(described));
    assert_eq!(early.iter().map(|mistake| mistake.rule.id).collect::<Vec<_>>(), ["media-embedded-unread"]);
    seen.insert("media-embedded-unread");
    ichor_testbed::assert_same(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/inspect/mistakes.txt")),
        &text,
    );

    let all: BTreeSet<&str> =
        rules::ALL.iter().map(|rule| rule.id).filter(|id| id.starts_with("media-")).collect();
    assert_eq!(seen, all);
}

#[test]
fn media_without_problems_trip_no_rule() {
    let good = [
        ("user-data", WORKER),
        ("meta-data", "local-hostname: a\n"),
        ("network-config", "version: 2\nethernets: {eth0: {addresses: [10.0.0.5/24]}}\n"),
    ];

    assert_eq!(tripped(&folder(&good)), Vec::<&str>::new());
    assert_eq!(of_image(&disk::stick("cidata", &good)).mistakes.len(), 0);
    assert_eq!(
        tripped(&line("talos.platform=metal talos.config=https://a/c?mac=${mac}")),
        Vec::<&str>::new()
    );
}

#[test]
fn an_empty_volume_is_not_boot_media() {
    let empty = fat::write(&Volume::new("cidata", vec![]).unwrap());
    let media = BootMedia::of_image(&empty, &mut MemoryStore::default()).unwrap();

    let error = inspect(&media, &machine("v1.13.9")).unwrap_err();

    assert!(error.to_string().contains("network-config"), "{error}");
}

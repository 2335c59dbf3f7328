//! Images of every kind.

use ichor_image::inspect::{
    AddressOrigin, BootMedia, BootOutcome, ConfigSourceResult, Inspection, TargetMachine, inspect,
};
use ichor_image::media::{ImageError, Volume, iso9660};
use ichor_image::oci::MemoryStore;
use ichor_talos::schematic::Schematic;
use ichor_values::TalosVersion;

use crate::inspect::disk;
use crate::inspect::links;

pub const WORKER: &str = include_str!("../../../../talos/tests/data/clusters/single-v1.12/worker.yaml");

pub fn machine(talos: &str) -> TargetMachine {
    TargetMachine {
        talos: TalosVersion::parse(talos).unwrap(),
        links: links("eth0=52:54:00:00:01:0b,eth1=52:54:00:00:01:0c"),
    }
}

pub fn inspected(media: &BootMedia) -> Inspection {
    inspect(media, &machine("v1.13.9")).unwrap()
}

pub fn of_image(image: &[u8]) -> Inspection {
    inspected(&BootMedia::of_image(&image.to_vec(), &mut MemoryStore::default()).unwrap())
}

const NETWORK: &str =
    "addresses: [{address: 10.0.0.7/24, linkName: eth0, family: inet4}]\nlinks: [{name: eth0}]";

#[test]
fn a_talos_disk_is_read_completely() {
    let disk = disk::talos("talos.platform=metal talos.hostname=a", &[(10, NETWORK), (12, "x")], b"XFSB");

    for image in [disk.clone(), disk::qcow2(&disk)] {
        let found = of_image(&image);

        assert_eq!((found.platform.as_str(), found.outcome()), ("metal", BootOutcome::Depends));
        assert_eq!(found.hostname().as_deref(), Some("a"));
        let addresses: Vec<_> = found
            .addressing
            .iter()
            .map(|found| (found.link.as_str(), found.address.as_str(), found.by))
            .collect();
        assert_eq!(
            addresses,
            [("eth0", "10.0.0.7/24", AddressOrigin::Platform), ("eth1", "dhcp4", AddressOrigin::Default)]
        );
        let state = &found.sources[0];
        assert!(
            matches!(&state.verdict, ConfigSourceResult::Unread(why) if why.starts_with("XFS")),
            "{state:?}"
        );
        let named: Vec<_> = found.found.iter().map(|found| found.taken_for.as_str()).collect();
        assert!(named.contains(&"META, with keys 10, 12"), "{named:?}");
    }
}

#[test]
fn a_state_partition_without_a_file_system_has_no_configuration() {
    let found = of_image(&disk::talos("talos.platform=metal", &[], b""));

    assert_eq!(
        (found.outcome(), &found.sources[0].verdict),
        (BootOutcome::Maintenance, &ConfigSourceResult::Nothing)
    );
}

#[test]
fn partition_labels_count_since_1_12() {
    let media =
        BootMedia::of_image(&disk::talos("talos.platform=nocloud", &[], b""), &mut MemoryStore::default())
            .unwrap();

    for (talos, outcome) in [("v1.11.5", BootOutcome::Depends), ("v1.12.4", BootOutcome::Maintenance)] {
        let found = inspect(&media, &machine(talos)).unwrap();

        assert_eq!(
            (found.outcome(), found.network.is_some()),
            (outcome, outcome == BootOutcome::Maintenance),
            "{talos}"
        );
    }
}

#[test]
fn the_newest_kernel_image_of_a_stick_is_booted_and_a_loose_one_is_read() {
    let kernel = disk::uki("talos.platform=nocloud");

    assert_eq!(of_image(&kernel).platform, "nocloud");
    assert_eq!(of_image(&disk::boot("talos.platform=metal")).outcome(), BootOutcome::Maintenance);
}

#[test]
fn a_volume_is_found_by_its_label() {
    let files = vec![
        ("user-data", WORKER.as_bytes()),
        ("meta-data", &b"local-hostname: a\n"[..]),
        ("network-config", b"version: 2\n"),
    ];
    for (label, outcome) in
        [("cidata", BootOutcome::Boots), ("CIDATA", BootOutcome::Boots), ("CiData", BootOutcome::Maintenance)]
    {
        let found = of_image(&iso9660::write(&Volume::new(label, files.clone()).unwrap()));

        assert_eq!(found.outcome(), outcome, "{label}");
        assert_eq!(found.hostname().is_some(), outcome == BootOutcome::Boots, "{label}");
    }
}

#[test]
fn a_volume_that_is_too_small_is_ignored() {
    let files = [
        ("user-data", WORKER),
        ("meta-data", "local-hostname: a\n"),
        ("network-config", "version: 2\nethernets: {eth0: {addresses: [10.0.0.5/24]}}\n"),
    ];
    let short = disk::short_stick("cidata", &files);

    for image in [short.clone(), disk::gpt(&[("seed", short)])] {
        let found = of_image(&image);

        assert_eq!((found.outcome(), found.hostname()), (BootOutcome::Maintenance, None));
        assert!(found.network.is_none() && found.effective().is_none() && !found.is_accepted());
        let rules: Vec<_> = found.mistakes.iter().map(|mistake| mistake.rule.id).collect();
        assert_eq!(rules, ["media-small"]);
    }
}

#[test]
fn files_of_a_cd_with_plain_names_are_not_found() {
    let files = [("user-data", WORKER), ("network-config", "version: 2\n")];

    let found = of_image(&disk::plain_cd("cidata", &files));

    assert_eq!((found.platform.as_str(), found.outcome()), ("nocloud", BootOutcome::Maintenance));
    assert!(found.effective().is_none() && !found.is_accepted());
    let message = &found.mistakes[0].issue.message;
    assert!(message.contains("user-data is called `user_data`"), "{message}");
}

#[test]
fn the_effective_configuration_is_shown_without_secrets() {
    let found = of_image(&disk::stick("cidata", &[("user-data", WORKER)]));
    let secrets: Vec<&str> = WORKER.lines().filter_map(|line| line.trim().strip_prefix("token: ")).collect();

    let shown = found.effective_text(&machine("v1.13.9").talos).unwrap();

    assert_eq!(secrets.len(), 2);
    assert!(secrets.iter().all(|secret| !shown.contains(secret)), "{shown}");
    assert!(shown.contains("type: worker") && shown.contains("token: '******'"), "{shown}");
}

#[test]
fn a_configuration_in_the_image_comes_before_the_platform_since_1_12() {
    let schematic = "customization: {embeddedMachineConfiguration: \"apiVersion: v1alpha1\\nkind: HostnameConfig\\nauto: 'off'\\nhostname: a\\n\"}";
    let schematic = Schematic::read(schematic).unwrap();

    for (talos, hostname, names) in [("v1.13.9", Some("a"), 5), ("v1.11.5", None, 4)] {
        let machine = machine(talos);
        let media = BootMedia::of_schematic(&schematic, &machine.talos).unwrap();
        let found = inspect(&media, &machine).unwrap();

        assert_eq!((found.hostname().as_deref(), found.sources.len()), (hostname, names), "{talos}");
    }
}

#[test]
fn addresses_of_every_kind_are_found() {
    let documents = "apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: 10.0.0.5/24}]\n---\n\
                     apiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth1\n";
    let old = WORKER.replace(
        "    network: {}\n",
        "    network: {interfaces: [{deviceSelector: {hardwareAddr: '52:54:00:00:01:0b'}, addresses: [10.0.0.6], vlans: [{vlanId: 7, \
         dhcp: true}]}]}\n",
    );
    let found = |text: &str| {
        let found = of_image(&disk::stick("cidata", &[("user-data", text)]));
        assert!(found.mistakes.is_empty(), "{:?}", found.mistakes);
        found
            .addressing
            .into_iter()
            .map(|found| format!("{} {}", found.link, found.address))
            .collect::<Vec<_>>()
    };

    assert_eq!(found(documents), ["eth0 10.0.0.5/24", "eth1 dhcp4"]);
    assert_eq!(found(&old), ["eth0 10.0.0.6/32", "eth0.7 dhcp4", "eth1 dhcp4"]);
    let line = "talos.platform=metal ip=10.0.0.9::10.0.0.1:255.255.255.0:web::none ip=eth1:dhcp";
    let line = inspected(&BootMedia::of_command_line(line));
    assert_eq!(line.hostname().as_deref(), Some("web"));
    let line: Vec<_> =
        line.addressing.iter().map(|found| format!("{} {}", found.link, found.address)).collect();
    assert_eq!(line, ["eth0 10.0.0.9/24", "eth1 dhcp4"]);
}

#[test]
fn unsupported_images_are_rejected_with_the_reason() {
    let mut on_another = disk::qcow2(&disk::gpt(&[]));
    let mut encrypted = on_another.clone();
    on_another[8..16].copy_from_slice(&512_u64.to_be_bytes());
    encrypted[35] = 2;
    let overlapping = {
        let mut disk = disk::mbr(&disk::stick("cidata", &[]));
        disk.copy_within(446..462, 462);
        disk
    };
    let packed = [&b"\x28\xb5\x2f\xfd"[..], &[0; 9]].concat();

    for (image, said) in [
        (on_another, "backing file"),
        (encrypted, "encrypted"),
        (overlapping, "partitions 1 and 2 overlap"),
        (packed, "zstd -d"),
        (vec![7; 100_000], "neither"),
    ] {
        let error = BootMedia::of_image(&image, &mut MemoryStore::default()).err().unwrap();
        assert!(error.to_string().contains(said), "{error}");
    }
    let files = vec![("user-data", WORKER.as_bytes())];
    let stick = disk::stick("cidata", &[("user-data", WORKER)]);
    for whole in [iso9660::write(&Volume::new("cidata", files).unwrap()), stick] {
        let cut_off = whole[..whole.len() - 1].to_vec();
        assert!(matches!(
            BootMedia::of_image(&cut_off, &mut MemoryStore::default()).err(),
            Some(ImageError::CutOff { .. })
        ));
        let padded = [whole, vec![0; 4096]].concat();
        assert_eq!(of_image(&padded).outcome(), BootOutcome::Boots);
    }
    let cut_off = disk::talos("talos.platform=metal", &[], b"")[..600_000].to_vec();
    assert!(matches!(
        BootMedia::of_image(&cut_off, &mut MemoryStore::default()).err(),
        Some(ImageError::Unknown | ImageError::Short(_))
    ));
}

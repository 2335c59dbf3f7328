//! Inspection of an initramfs.

use ichor_image::build::extension::Extension;
use ichor_image::inspect::{BootMedia, BootOutcome, Inspection, TargetMachine, inspect};
use ichor_image::media::Content;
use ichor_image::oci::MemoryStore;

use crate::initramfs::extensions::{extension, talos};
use crate::initramfs::segments::{assembled, published};

fn inspected(image: &Content) -> Inspection {
    let media = BootMedia::of_image(image, &mut MemoryStore::default()).unwrap();
    let machine = TargetMachine { talos: talos("v1.13.9"), links: Vec::new() };
    inspect(&media, &machine).unwrap()
}

#[test]
fn an_initramfs_contains_its_release_and_extensions() {
    let found = inspected(&assembled(&published(), &[extension("frr", &[]), extension("bird", &[])]));

    let release = found.release.as_ref().unwrap();
    assert_eq!(
        (release.version.to_string().as_str(), release.by.as_str()),
        ("v1.13.9", "rootfs.sqsh of the initramfs")
    );
    let names: Vec<_> = found.extensions.iter().flatten().map(|layer| layer.metadata.name.as_str()).collect();
    assert_eq!(names, ["frr", "bird"]);
    assert_eq!((found.outcome(), found.is_accepted()), (BootOutcome::Depends, true));
}

#[test]
fn published_assets_have_no_extensions() {
    let found = inspected(&published());

    assert_eq!(found.extensions, Some(Vec::new()));
    assert!(
        found.found.iter().any(|found| found.taken_for == "an initramfs without extensions"),
        "{:?}",
        found.found
    );
}

#[test]
fn the_embedded_configuration_is_validated_and_its_secrets_are_hidden() {
    let talos = talos("v1.13.9");
    let text = b"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: inside\nauto: \"off\"\n---\n\
        apiVersion: v1alpha1\nkind: WireguardConfig\nname: wg0\nprivateKey: hunter2\n";
    let image = assembled(&published(), &[Extension::embedded(&Content::from(text), &talos).unwrap()]);

    let media = BootMedia::of_image(&image, &mut MemoryStore::default()).unwrap();

    assert_eq!(media.embedded.as_ref().unwrap().as_deref(), Ok(&text[..]));
    let found = inspect(&media, &TargetMachine { talos: talos.clone(), links: Vec::new() }).unwrap();
    let source = found.sources.iter().find(|source| source.name == "embedded").unwrap();
    assert_ne!(source.verdict.word(), "nothing");
    assert!(!format!("{:?}", found.effective_text(&talos)).contains("hunter2"));
}

#[test]
fn a_corrupt_initramfs_is_reported() {
    let image = assembled(&published(), &[extension("frr", &[])]);
    let cut = image.part(0, image.len() - 20).unwrap();

    let media = BootMedia::of_image(&cut, &mut MemoryStore::default()).unwrap();

    assert!(media.extensions.is_none());
    let label = &media.found[0].taken_for;
    assert!(label.starts_with("an unreadable initramfs: "), "{label}");
}

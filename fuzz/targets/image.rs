//! Any bytes are an image that a machine does something with, or an error, never a panic: CDs, sticks, disks with partitions, disks
//! inside of qcow2 images, kernel images, GRUB on a CD, the META partition; and parts of a release, or none.
#![no_main]

use ichor_image::build::{AssetCollector, GrubCd};
use ichor_image::inspect::{BootMedia, TargetMachine, inspect};
use ichor_image::media::{FileSystem, Partitions, Qcow2, uki};
use ichor_image::oci::MemoryStore;
use ichor_values::Arch;
use ichor_values::TalosVersion;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let image = bytes.to_vec();
    let machine =
        TargetMachine { talos: TalosVersion::parse("v1.13.9").expect("a release"), links: Vec::new() };
    if let Ok(media) = BootMedia::of_image(&image, &mut MemoryStore::default()) {
        let _ = inspect(&media, &machine);
    }
    // Each reader by itself as well, wherever the first one stops.
    let _ = (
        Qcow2::find_in(&image).is_ok(),
        Partitions::find_in(&image).is_ok(),
        uki::command_line(&image).is_ok(),
        GrubCd::find_in(&bytes.into()).is_ok(),
        AssetCollector::new(Arch::Amd64).add("it", &bytes.into()).is_ok(),
    );
    if let Ok(found) = FileSystem::open(&image) {
        for file in &found.files {
            let _ = found.read(&image, file);
            let _ = found.list(&image, file);
        }
    }
});

//! Any bytes are an archive, a layer, a package, a program or an image's name, or an error that says why not, never a panic. What is
//! unpacked leads nowhere else, and packed again it is the same.
#![no_main]

use ichor_core::cluster::section::Arch;
use ichor_core::extension::{Elf, debian};
use ichor_core::oci::{Archive, Document, Image, Reference, Root, Shipment, Unpack, layer};

fn unpacked(bytes: &[u8]) -> Option<Root> {
    let mut unpack = Unpack::default();
    unpack.layer(bytes, None).ok()?;
    Some(unpack.finish())
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut archive) = Archive::open(bytes) {
        let _ = Shipment::of(&mut archive);
        for image in Image::all(&mut archive).unwrap_or_default() {
            let _ = image.unpack(&mut archive, &|| {});
        }
    }
    if let Some(root) = unpacked(bytes) {
        assert!(root.iter().all(|(path, _)| !path.split('/').any(|step| ["", ".", ".."].contains(&step))));
        let packed = layer(&root);
        if let Some(again) = unpacked(&packed.bytes) {
            assert_eq!(layer(&again).diff_id, packed.diff_id);
        }
    }
    let _ = Document::read(bytes, "it");
    let _ = debian::unpack([bytes], Arch::Amd64);
    let _ = Elf::read(bytes);
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(reference) = Reference::parse(text)
    {
        assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
    }
});

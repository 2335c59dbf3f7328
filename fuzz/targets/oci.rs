//! Any bytes are an archive, a layer, a package, a program or an image's name, or an error that says why not, never a panic. What is
//! unpacked leads nowhere else, and packed again it is the same.
#![no_main]

use ichor_image::extension::{Elf, debian};
use ichor_image::oci::{
    Archive, Document, FileTree, ImageUpload, Layer, LayerUnpacker, MemoryStore, OciImage, Reference, layer,
};
use ichor_values::Arch;

fn unpacked(bytes: &[u8]) -> Option<FileTree> {
    let mut memory = MemoryStore::default();
    let mut unpack = LayerUnpacker::new(&mut memory);
    unpack.layer(bytes, None).ok()?;
    Some(unpack.finish())
}

fn packed(root: &FileTree) -> Layer {
    layer(root, &mut MemoryStore::default()).expect("memory takes every byte")
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(Archive::Layout(mut layout)) = Archive::open(bytes, &mut MemoryStore::default()) {
        let _ = ImageUpload::collect(&mut layout);
        for image in OciImage::all(&mut layout).unwrap_or_default() {
            let _ = image.unpack(&mut layout, &mut MemoryStore::default(), &|| {});
        }
    }
    if let Some(root) = unpacked(bytes) {
        assert!(root.iter().all(|(path, _)| !path.split('/').any(|step| ["", ".", ".."].contains(&step))));
        let once = packed(&root);
        if let Some(again) = once.content.memory().and_then(unpacked) {
            assert_eq!(packed(&again).diff_id, once.diff_id);
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

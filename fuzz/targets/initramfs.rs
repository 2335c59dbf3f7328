//! Any bytes are a squashfs, an archive of cpio, an initramfs or a list of extensions, or an error that says why not, never a panic; and
//! what is read of them is bounded.
#![no_main]

use std::io::{self, Read};

use ichor_image::build::initramfs::{BaseInitramfs, files};
use ichor_image::media::Content;
use ichor_image::media::cpio::CpioReader;
use ichor_image::media::squashfs::Squashfs;
use ichor_talos::extension::Layer;

/// As much of a file is read.
const LONGEST: u64 = 1 << 20;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let image = bytes.to_vec();
    if let Ok(squashfs) = Squashfs::open(&image)
        && let Ok(top) = squashfs.top()
    {
        let mut left = 64;
        let _ = squashfs.walk(&top, &mut |path, node| {
            assert!(!path.split('/').any(|step| ["", ".", ".."].contains(&step)));
            if left > 0 && node.is_file() {
                left -= 1;
                let _ = squashfs.read(node, LONGEST);
            }
            Ok(())
        });
        let _ = squashfs.find("usr/lib/os-release");
    }
    let mut reader = CpioReader::new(bytes);
    while let Ok(Some(_)) = reader.entry() {
        let _ = io::copy(&mut (&mut reader).take(LONGEST), &mut io::sink());
    }
    let content = Content::from(image);
    let _ = files(&content, &mut |_, held| {
        io::copy(&mut held.take(LONGEST), &mut io::sink())?;
        Ok(())
    });
    let _ = BaseInitramfs::read(&content, &mut |_, _| Ok(None));
    let _ = Layer::read(bytes);
});

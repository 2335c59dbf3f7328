//! Archives of ours, read by Debian's cpio; and its own, read by us.

use std::fs;

use ichor_image::media::cpio;
use tempfile::TempDir;

use super::tools::{gather, lay_out, run};
use crate::initramfs::cpio::read;
use crate::initramfs::trees;

#[test]
fn cpio_reads_every_tree() {
    for root in trees::all() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("archive"), cpio::write(&root).unwrap().read().unwrap()).unwrap();
        fs::create_dir(folder.path().join("out")).unwrap();

        run(folder.path(), "sh", &["-c", "cd out && cpio --extract --quiet <../archive"]);

        assert!(gather(&folder.path().join("out")) == root, "cpio read another tree");
    }
}

#[test]
fn a_tree_gives_the_bytes_that_talos_gets_from_cpio() {
    for root in trees::all() {
        let folder = TempDir::new().unwrap();
        lay_out(&root, &folder.path().join("in"));
        // Talos gives cpio the names, folder by folder; times are the ones of its files.
        let list = "cd in && find . -exec touch --no-dereference --date=@0 {} + && \
                    find . -mindepth 1 -printf '%P\\n' | sed 's,/,\\x01,g' | sort | sed 's,\\x01,/,g' | \
                    cpio -H newc --create --reproducible --quiet -R +0:+0 >../archive";
        run(folder.path(), "sh", &["-c", list]);
        let archive = fs::read(folder.path().join("archive")).unwrap();

        assert!(cpio::write(&root).unwrap().read().unwrap() == archive, "cpio writes other bytes");
        assert!(read(&archive).unwrap() == root);
    }
}

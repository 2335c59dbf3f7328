//! What an initramfs is made of: squashfs, cpio, segments, extensions. What is written is read back as it was, by ourselves, and in `lab` by
//! the programs and the kernel that others use for it; what they write is read by us. The tests in `lab` need `scripts/tools squashfs` and
//! `scripts/lab-vm`.

mod trees;

mod conflicts;
mod cpio;
mod extensions;
mod inspected;
mod modules;
mod segments;
mod squashfs;

mod lab {
    mod cpio;
    mod segments;
    mod squashfs;
    mod tools;
}

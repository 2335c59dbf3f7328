//! The parts of an initramfs: squashfs, cpio, segments, extensions. Output is read back by this crate, and in `lab` by the
//! standard programs and the kernel, whose output is read here in turn. The tests in `lab` need `scripts/tools squashfs` and
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

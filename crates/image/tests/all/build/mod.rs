//! Images that machines boot: they are read back by this crate, and in `lab` by other programs and by machines that boot
//! from it. Those tests need `scripts/tools disk efi iso fat`, `scripts/lab-vm` and `scripts/lab-efi`.

mod disks;
mod isos;
mod kernels;
mod samples;

mod lab {
    mod boots;
    mod isos;
    mod official;
    mod programs;
}

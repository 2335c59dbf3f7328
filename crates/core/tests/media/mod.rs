//! Volumes, read back by our reader and, in `lab`, by other programs. And boot media: Talos finds the intended configuration on
//! them, and unsuitable ones are rejected. The tests in `lab`
//! need `scripts/tools iso fat` and `scripts/lab-vm`.

mod volumes;

mod discs;
mod disks;
mod hostile;
mod kernels;
mod trees;
mod written;

mod carrier {
    mod kernel;
    pub mod rendered;
    mod secrecy;
    mod volume;
}

mod lab {
    mod built;
    mod discs;
    mod fat;
    mod iso9660;
    mod others;
    mod tools;
    mod trees;
}

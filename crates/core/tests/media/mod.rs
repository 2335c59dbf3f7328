//! Volumes: what is written is read back as it was, by ourselves, and in `lab` by the programs that others use for it. And what
//! carries a machine's first configuration: that Talos finds in it what is meant, and when it cannot hold it. The tests in `lab`
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

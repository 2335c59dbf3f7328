//! Images, written and read, by ichor and by other programs.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "cases are files, and some tests run programs"
)]

mod build;
mod initramfs;
mod inspect;
mod oci;

//! What makes the machines: libvirt's documents, Proxmox' settings, Terraform's modules.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run --test hypervisor` rewrites `golden-hypervisor/`; the diff is reviewed.

mod common;

use std::path::{Path, PathBuf};

use ichor_core::render::artifact::Artifact;
use ichor_core::render::hypervisor;

/// The examples, and the cases of their own.
fn cases() -> Vec<PathBuf> {
    common::cases("../../../examples").into_iter().chain(common::cases("hypervisor")).collect()
}

fn files(case: &Path) -> Vec<Artifact> {
    let (cluster, plan) = common::planned_case(case, "ichor.yaml");
    hypervisor::render(&cluster, &plan).unwrap_or_else(|errors| panic!("{}: {errors:#?}", case.display()))
}

#[test]
fn every_case_has_the_files_that_are_expected() {
    for case in cases() {
        let name = case.file_name().unwrap().to_str().unwrap();
        let folder = common::folder("golden-hypervisor").join(name);
        let files = files(&case);
        for file in &files {
            common::assert_same(&folder.join(&file.path), &file.text);
        }
        let paths: Vec<_> = files.iter().map(|file| folder.join(&file.path)).collect();
        let stale: Vec<_> =
            common::files_below(&folder).into_iter().filter(|path| !paths.contains(path)).collect();
        assert!(stale.is_empty(), "{stale:#?} are expected of {name} no longer");
    }
}

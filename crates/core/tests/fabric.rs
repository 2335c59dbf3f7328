//! The other end of the wire: routers, and what Kubernetes is told.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run --test fabric` rewrites `golden-fabric/`; the diff is reviewed.

mod common;

use common::fabric::{cases, files};

#[test]
fn every_case_has_the_files_that_are_expected() {
    for case in cases() {
        let name = case.file_name().unwrap().to_str().unwrap();
        let folder = common::folder("golden-fabric").join(name);
        let files = files(&case);
        for file in &files {
            common::assert_same(&folder.join(&file.path), &file.text);
        }
        let paths: Vec<_> = files.iter().map(|file| folder.join(&file.path)).collect();
        let stale: Vec<_> = common::files_below(&folder).into_iter().filter(|path| !paths.contains(path)).collect();
        assert!(stale.is_empty(), "{stale:#?} are expected of {name} no longer");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for case in cases() {
        assert!(files(&case) == files(&case), "{}", case.display());
    }
}

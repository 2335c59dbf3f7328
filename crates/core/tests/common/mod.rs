//! A folder of cases: reading a cluster file from it, and rewriting what is expected.
#![expect(clippy::disallowed_methods, reason = "the cases are files")]
#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::path::{Path, PathBuf};

use ichor_core::cluster::{Files, Loaded, load};

/// The folder `tests/NAME` of this crate.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The sub-folders of `tests/NAME`, in order.
pub fn cases(name: &str) -> Vec<PathBuf> {
    let mut cases: Vec<_> = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

/// The files below one folder; `*` matches within one name.
pub struct Below(pub PathBuf);

impl Files for Below {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        fs::read(self.0.join(path)).map_err(|error| error.to_string())
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, String> {
        let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let Some((start, end)) = name.split_once('*') else {
            return Ok(if self.0.join(pattern).exists() { vec![pattern.to_owned()] } else { Vec::new() });
        };
        let names = fs::read_dir(self.0.join(folder)).map_err(|error| error.to_string())?;
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<_> = names
            .filter(|name| name.starts_with(start) && name.ends_with(end))
            .map(|name| if folder.is_empty() { name } else { format!("{folder}/{name}") })
            .collect();
        found.sort();
        Ok(found)
    }
}

/// Reads the cluster file `name` of a case.
pub fn load_case(case: &Path, name: &str) -> Loaded {
    load(name, &mut Below(case.to_owned()))
}

/// Compares with what is expected in the file `path`, or rewrites it when `UPDATE_GOLDEN` is set.
pub fn assert_same(path: &Path, got: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, got).unwrap();
    }
    let want = fs::read_to_string(path).unwrap_or_default();
    similar_asserts::assert_eq!(got: got, want: want, "{}", path.display());
}

//! The real programs that `scripts/lab-parts` builds.

use std::env;
use std::path::PathBuf;

/// The path of a file or folder of a part, such as `kubernetes/kube-apiserver`.
pub fn path(name: &str) -> PathBuf {
    let part = name.split('/').next().unwrap_or(name);
    let path = cache().join(name);
    let found = path.canonicalize();
    found.unwrap_or_else(|_| panic!("{}: not there; make it with `scripts/lab-parts {part}`", path.display()))
}

/// The folder that `scripts/lab-parts` fills.
fn cache() -> PathBuf {
    let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || {
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        cache.expect("HOME is set").join("ichor/lab")
    };
    folder("ICHOR_LAB_CACHE").unwrap_or_else(user)
}

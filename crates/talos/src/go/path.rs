//! Paths as `path/filepath` handles them on Unix, by their text only.

/// Whether `filepath.IsLocal` takes it: relative, and never above where it starts.
pub(crate) fn is_local(path: &str) -> bool {
    if path.is_empty() || path.starts_with('/') {
        return false;
    }
    let mut depth = 0i64;
    path.split('/').all(|part| {
        depth += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth >= 0
    })
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn a_local_path_stays_below_its_start() {
        for path in ["a", "a/b", "a/../b", "./a", "a/..", "a..b"] {
            assert!(is_local(path), "{path}");
        }
        for path in ["", "/a", "..", "../a", "a/../../b"] {
            assert!(!is_local(path), "{path}");
        }
    }
}

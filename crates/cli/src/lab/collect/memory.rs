//! What the processes of each machine keep for themselves.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of all processes in the PID namespaces of these first processes, without the pages of programs, which all share.
pub(super) fn private_bytes(firsts: &[i32]) -> Vec<u64> {
    let namespace = |process: &Path| fs::read_link(process.join("ns/pid")).ok();
    let of: HashMap<PathBuf, usize> = firsts
        .iter()
        .enumerate()
        .filter_map(|(nth, pid)| Some((namespace(Path::new(&format!("/proc/{pid}")))?, nth)))
        .collect();
    let mut sums = vec![0; firsts.len()];
    for process in fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path()) {
        if let Some(nth) = namespace(&process).and_then(|it| of.get(&it).copied()) {
            sums[nth] += fs::read_to_string(process.join("status")).map_or(0, |status| own(&status));
        }
    }
    sums
}

/// The memory that a process shares with nobody, out of its `status`.
fn own(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_a_process_shares_with_nobody() {
        assert_eq!(own("VmRSS:\t  9000 kB\nRssAnon:\t    2048 kB\nRssFile:\t 1 kB\n"), 2 << 20);
        assert_eq!(own("Name:\tkthreadd\n"), 0);
    }

    #[test]
    fn a_process_counts_for_its_own_namespace() {
        let own = i32::try_from(std::process::id()).unwrap();

        let [here, nowhere] = private_bytes(&[own, 0])[..] else { panic!("two sums") };

        assert!(here > 0);
        assert_eq!(nowhere, 0);
    }
}

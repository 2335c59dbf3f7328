//! Private memory of the processes of each machine.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Private memory in bytes of all processes in the PID namespaces of these init processes.
pub(super) fn private_bytes(init_pids: &[i32]) -> Vec<u64> {
    let namespace = |process: &Path| fs::read_link(process.join("ns/pid")).ok();
    let indices: HashMap<PathBuf, usize> = init_pids
        .iter()
        .enumerate()
        .filter_map(|(nth, pid)| Some((namespace(Path::new(&format!("/proc/{pid}")))?, nth)))
        .collect();
    let mut sums = vec![0; init_pids.len()];
    for process in fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path()) {
        if let Some(nth) = namespace(&process).and_then(|it| indices.get(&it).copied()) {
            sums[nth] +=
                fs::read_to_string(process.join("status")).map_or(0, |status| parse_private_bytes(&status));
        }
    }
    sums
}

/// Private memory of a process in bytes, from its `status`.
fn parse_private_bytes(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_anonymous_memory_counts_as_private() {
        assert_eq!(
            parse_private_bytes("VmRSS:\t  9000 kB\nRssAnon:\t    2048 kB\nRssFile:\t 1 kB\n"),
            2 << 20
        );
        assert_eq!(parse_private_bytes("Name:\tkthreadd\n"), 0);
    }

    #[test]
    fn a_process_counts_for_its_own_pid_namespace() {
        let own = i32::try_from(std::process::id()).unwrap();

        let [current, missing] = private_bytes(&[own, 0])[..] else { panic!("two sums") };

        assert!(current > 0);
        assert_eq!(missing, 0);
    }
}

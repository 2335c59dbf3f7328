//! Processes of a killed agent, which would hold the sockets and ports of new ones.
//!
//! They are identified by their program and its arguments: a pid file could be missing, or name another process by now.

use std::fs;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use crate::log;

/// Stops every process that runs a program of one of these names with all of `marks` among its arguments. It is killed
/// after `patience`.
pub async fn stop_leftovers(names: &[&str], marks: &[&str], timeout: Duration) {
    let own = Pid::this();
    let find = || find_processes(names, marks).into_iter().filter(|(pid, _)| *pid != own).collect::<Vec<_>>();
    let left = find();
    for (pid, name) in &left {
        log::warn(format_args!("stopping {name} of an earlier run (pid {pid})"));
        let _ = kill(*pid, Signal::SIGTERM);
        // A stopped process handles no signal before it continues.
        let _ = kill(*pid, Signal::SIGCONT);
    }
    let start = Instant::now();
    let mut killed = false;
    while !left.is_empty() && !find().is_empty() && start.elapsed() < timeout * 2 {
        if start.elapsed() >= timeout && !killed {
            for (pid, _) in find() {
                let _ = kill(pid, Signal::SIGKILL);
            }
            killed = true;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

fn find_processes(names: &[&str], marks: &[&str]) -> Vec<(Pid, String)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((Pid::from_raw(pid), matching_program(pid, names, marks)?))).collect()
}

/// The program of a process, if it matches.
fn matching_program(pid: i32, names: &[&str], marks: &[&str]) -> Option<String> {
    let folder = Path::new("/proc").join(pid.to_string());
    let program = fs::read_link(folder.join("exe")).ok()?;
    // The file may have been replaced by an upgrade of the system.
    let name = program.file_name()?.to_str()?.trim_end_matches(" (deleted)").to_owned();
    let line = fs::read(folder.join("cmdline")).ok()?;
    let is_marked =
        marks.iter().all(|mark| line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()));
    (names.contains(&name.as_str()) && is_marked).then_some(name)
}

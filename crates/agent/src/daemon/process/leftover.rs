//! Processes of an agent that was killed. They would hold the sockets and ports of those that follow.
//!
//! They are found by what they run and where: a file with their number could be missing, or name another process by now.

use std::fs;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use crate::log;

/// Ends every process that runs a program of one of these names with a word of `marks` among its arguments. It gets `patience`
/// to end by itself.
pub async fn end(names: &[&str], marks: &[&str], patience: Duration) {
    let own = Pid::this();
    let find = || found(names, marks).into_iter().filter(|(pid, _)| *pid != own).collect::<Vec<_>>();
    let left = find();
    for (pid, name) in &left {
        log::warn(format_args!("{name} of an earlier run is still there as process {pid}, and is ended"));
        let _ = kill(*pid, Signal::SIGTERM);
        // One that was stopped takes no notice before it goes on.
        let _ = kill(*pid, Signal::SIGCONT);
    }
    let start = Instant::now();
    let mut killed = false;
    while !left.is_empty() && !find().is_empty() && start.elapsed() < patience * 2 {
        if start.elapsed() >= patience && !killed {
            for (pid, _) in find() {
                let _ = kill(pid, Signal::SIGKILL);
            }
            killed = true;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

fn found(names: &[&str], marks: &[&str]) -> Vec<(Pid, String)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((Pid::from_raw(pid), program(pid, names, marks)?))).collect()
}

/// The program of a process, if it is one of these.
fn program(pid: i32, names: &[&str], marks: &[&str]) -> Option<String> {
    let folder = Path::new("/proc").join(pid.to_string());
    let program = fs::read_link(folder.join("exe")).ok()?;
    // The file may be another by now: the system was upgraded.
    let name = program.file_name()?.to_str()?.trim_end_matches(" (deleted)").to_owned();
    let line = fs::read(folder.join("cmdline")).ok()?;
    let marked = marks.iter().all(|mark| line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()));
    (names.contains(&name.as_str()) && marked).then_some(name)
}

//! Questions to a program of one's own.

use std::process::Stdio;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::Bad;

/// How much of what a program says is kept.
const KEPT: usize = 200;

/// Ends a program with all it started, unless it ended by itself.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended just now.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

pub(super) async fn ask(words: &[String]) -> Result<(), Bad> {
    let [program, arguments @ ..] = words else { return Err(Bad::Empty) };
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = |source| Bad::Start { program: program.clone(), source };
    let mut child = command.spawn().map_err(start)?;
    let mut group = Group(child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw));
    let mut said = Vec::new();
    let status = match child.stderr.take() {
        None => child.wait().await,
        Some(stderr) => {
            let reading = listen(stderr, &mut said);
            tokio::pin!(reading);
            // What it started may hold the pipe open: its own end is what counts.
            tokio::select! {
                biased;
                () = &mut reading => child.wait().await,
                status = child.wait() => status,
            }
        }
    };
    let status = status.map_err(start)?;
    group.0 = None;
    if status.success() {
        return Ok(());
    }
    Err(Bad::Ended { program: program.clone(), end: status.to_string(), said: first_line(&said) })
}

/// Reads to the end, so that the program is never held up, and keeps only the beginning.
async fn listen(mut pipe: impl AsyncRead + Unpin, said: &mut Vec<u8>) {
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = pipe.read(&mut piece).await {
        let room = KEPT.saturating_sub(said.len());
        said.extend_from_slice(&piece[..length.min(room)]);
    }
}

fn first_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let line: String =
        text.lines().next().unwrap_or_default().chars().filter(|it| !it.is_control()).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

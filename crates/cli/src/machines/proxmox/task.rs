//! Waits for Proxmox tasks.

use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::proxmox::ProxmoxRequest;
use ichor_core::machines::proxmox::reply::{list, text};
use ichor_core::machines::proxmox::request;
use ichor_core::machines::proxmox::task::{TaskState, parse_state, task_host};
use serde_json::Value;

use super::api::{ProxmoxApi, ProxmoxError};
use crate::machines::{FailureKind, ProgressSink};

/// Time limit for a task: some download gigabytes over a slow link.
const TASK_TIMEOUT: Duration = Duration::from_hours(1);

/// Shortest and longest interval between polls.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// Number of polls that may fail: a host with a busy disk is slow to answer.
const MAX_MISSES: u32 = 5;

/// Number of log lines in an error.
const LOG_LINES: usize = 20;

/// Makes a call and waits for the task it starts, if any.
pub(super) fn run_task(
    api: &ProxmoxApi,
    call: &ProxmoxRequest,
    progress: &dyn ProgressSink,
) -> Result<(), ProxmoxError> {
    wait_for_task(api, call, &api.call(call)?, progress)
}

/// Waits for the task that a call returned.
pub(super) fn wait_for_task(
    api: &ProxmoxApi,
    call: &ProxmoxRequest,
    answer: &Value,
    progress: &dyn ProgressSink,
) -> Result<(), ProxmoxError> {
    let Some((upid, host)) = answer.as_str().and_then(|upid| Some((upid, task_host(upid)?))) else {
        return Ok(());
    };
    let (start, mut pause, mut misses, mut lines) = (Instant::now(), POLL_INTERVALS[0], 0, 0);
    loop {
        let course = match api.call(&request::task_status(host, upid)) {
            Ok(status) => parse_state(&status),
            Err(error) if error.kind() == FailureKind::Unreachable && misses < MAX_MISSES => {
                misses += 1;
                TaskState::Running
            }
            Err(error) => return Err(error),
        };
        match course {
            TaskState::Running => {}
            TaskState::Done => return Ok(()),
            TaskState::Failed(message) => {
                let log = read_log(api, host, upid, 0).unwrap_or_default();
                let log = log[log.len().saturating_sub(LOG_LINES)..].join("\n");
                return Err(ProxmoxError::Failed { request: call.to_string(), message, log });
            }
        }
        if start.elapsed() > TASK_TIMEOUT {
            let minutes = TASK_TIMEOUT.as_secs() / 60;
            return Err(ProxmoxError::Slow { request: call.to_string(), upid: upid.to_owned(), minutes });
        }
        for line in read_log(api, host, upid, lines).unwrap_or_default() {
            progress.message(&line);
            lines += 1;
        }
        thread::sleep(pause);
        pause = (pause * 3 / 2).min(POLL_INTERVALS[1]);
    }
}

/// Log lines of a task from line `from` on. Proxmox returns `no content` for an empty log.
fn read_log(api: &ProxmoxApi, host: &str, upid: &str, from: u64) -> Result<Vec<String>, ProxmoxError> {
    let answer = api.call(&request::task_log(host, upid, from))?;
    let lines = list(&answer).iter().filter_map(|line| text(line, "t"));
    Ok(lines.filter(|line| !line.is_empty() && *line != "no content").map(ToOwned::to_owned).collect())
}

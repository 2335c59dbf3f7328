//! Tasks, followed to their end.

use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::proxmox::Request;
use ichor_core::machines::proxmox::answer::{list, text};
use ichor_core::machines::proxmox::request;
use ichor_core::machines::proxmox::task::{Course, course, host};
use serde_json::Value;

use super::api::{Api, ApiError};
use crate::machines::{Kind, Onlooker};

/// How long a task may take: an image of some gigabytes is fetched over a slow line.
const PATIENCE: Duration = Duration::from_hours(1);

/// The times between two questions, from the first on.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// How many questions in a row may stay without an answer: a host that is busy with a disk is slow to answer.
const MISSES: u32 = 5;

/// How much of a log is shown.
const LINES: usize = 20;

/// Makes a call and follows the task that it sets off. What is answered without a task is done.
pub(super) fn run(api: &Api, call: &Request, onlooker: &dyn Onlooker) -> Result<(), ApiError> {
    follow(api, call, &api.call(call)?, onlooker)
}

/// Follows the task that was answered to a call.
pub(super) fn follow(
    api: &Api,
    call: &Request,
    answer: &Value,
    onlooker: &dyn Onlooker,
) -> Result<(), ApiError> {
    let Some((upid, host)) = answer.as_str().and_then(|upid| Some((upid, host(upid)?))) else {
        return Ok(());
    };
    let (start, mut pause, mut misses, mut lines) = (Instant::now(), PAUSES[0], 0, 0);
    loop {
        let course = match api.call(&request::task(host, upid)) {
            Ok(status) => course(&status),
            Err(error) if error.kind() == Kind::Unreachable && misses < MISSES => {
                misses += 1;
                Course::Running
            }
            Err(error) => return Err(error),
        };
        match course {
            Course::Running => {}
            Course::Done => return Ok(()),
            Course::Failed(said) => {
                let log = log(api, host, upid, 0).unwrap_or_default();
                let log = log[log.len().saturating_sub(LINES)..].join("\n");
                return Err(ApiError::Failed { request: call.to_string(), said, log });
            }
        }
        if start.elapsed() > PATIENCE {
            let minutes = PATIENCE.as_secs() / 60;
            return Err(ApiError::Slow { request: call.to_string(), upid: upid.to_owned(), minutes });
        }
        for line in log(api, host, upid, lines).unwrap_or_default() {
            onlooker.line(&line);
            lines += 1;
        }
        thread::sleep(pause);
        pause = (pause * 3 / 2).min(PAUSES[1]);
    }
}

/// What a task said, from one line on. Proxmox says `no content` while there is nothing.
fn log(api: &Api, host: &str, upid: &str, from: u64) -> Result<Vec<String>, ApiError> {
    let answer = api.call(&request::log(host, upid, from))?;
    let lines = list(&answer).iter().filter_map(|line| text(line, "t"));
    Ok(lines.filter(|line| !line.is_empty() && *line != "no content").map(ToOwned::to_owned).collect())
}

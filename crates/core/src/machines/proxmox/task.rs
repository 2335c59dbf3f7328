//! Tasks: most actions of Proxmox continue after the reply.

use serde_json::Value;

use super::reply::text;

/// The host of a task: `UPID:HOST:PID:…`.
pub fn task_host(upid: &str) -> Option<&str> {
    let mut parts = upid.split(':');
    (parts.next() == Some("UPID")).then(|| parts.next()).flatten().filter(|host| !host.is_empty())
}

/// The state of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// The task is running.
    Running,
    /// The task succeeded.
    Done,
    /// The task failed, with its exit status.
    Failed(String),
}

/// Parses the status of a task.
pub fn parse_state(status: &Value) -> TaskState {
    if text(status, "status") == Some("running") {
        return TaskState::Running;
    }
    match text(status, "exitstatus") {
        Some("OK") => TaskState::Done,
        // A task with warnings succeeded; its log has the warnings.
        Some(status) if status.starts_with("WARNINGS") => TaskState::Done,
        Some(status) => TaskState::Failed(status.to_owned()),
        // The task's worker was killed.
        None => TaskState::Failed("the task ended without an exit status".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_succeeds_only_with_exit_status_ok() {
        assert_eq!(parse_state(&json!({"status": "running"})), TaskState::Running);
        assert_eq!(parse_state(&json!({"status": "stopped", "exitstatus": "OK"})), TaskState::Done);
        assert_eq!(parse_state(&json!({"status": "stopped", "exitstatus": "WARNINGS: 1"})), TaskState::Done);
        let failed = parse_state(&json!({"status": "stopped", "exitstatus": "no such volume"}));
        assert_eq!(failed, TaskState::Failed("no such volume".to_owned()));
        assert!(matches!(parse_state(&json!({"status": "stopped"})), TaskState::Failed(_)));
    }

    #[test]
    fn the_host_of_a_task_is_in_its_upid() {
        assert_eq!(task_host("UPID:pve2:000C3B1:0123:65AB:qmcreate:311:ops@pve!ci:"), Some("pve2"));
        assert_eq!(task_host("OK"), None);
        assert_eq!(task_host("UPID:"), None);
    }
}

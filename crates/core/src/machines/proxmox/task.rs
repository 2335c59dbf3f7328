//! Tasks: most that is set off on Proxmox goes on after the answer.

use serde_json::Value;

use super::answer::text;

/// The host that a task runs on: `UPID:HOST:PID:…`.
pub fn host(upid: &str) -> Option<&str> {
    let mut parts = upid.split(':');
    (parts.next() == Some("UPID")).then(|| parts.next()).flatten().filter(|host| !host.is_empty())
}

/// How it is with a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It goes on.
    Running,
    /// It did what it was to do.
    Done,
    /// It did not: its own words.
    Failed(String),
}

/// What is told of a task.
pub fn course(status: &Value) -> TaskState {
    if text(status, "status") == Some("running") {
        return TaskState::Running;
    }
    match text(status, "exitstatus") {
        Some("OK") => TaskState::Done,
        // Such a task did its work; what it warns of is in its log.
        Some(said) if said.starts_with("WARNINGS") => TaskState::Done,
        Some(said) => TaskState::Failed(said.to_owned()),
        // Its worker is gone, and nobody wrote down how it ended.
        None => TaskState::Failed("it ended without a word".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_has_ended_well_only_when_it_says_so() {
        assert_eq!(course(&json!({"status": "running"})), TaskState::Running);
        assert_eq!(course(&json!({"status": "stopped", "exitstatus": "OK"})), TaskState::Done);
        assert_eq!(course(&json!({"status": "stopped", "exitstatus": "WARNINGS: 1"})), TaskState::Done);
        let failed = course(&json!({"status": "stopped", "exitstatus": "no such volume"}));
        assert_eq!(failed, TaskState::Failed("no such volume".to_owned()));
        assert!(matches!(course(&json!({"status": "stopped"})), TaskState::Failed(_)));
    }

    #[test]
    fn a_task_is_followed_where_it_runs() {
        assert_eq!(host("UPID:pve2:000C3B1:0123:65AB:qmcreate:311:ops@pve!ci:"), Some("pve2"));
        assert_eq!(host("OK"), None);
        assert_eq!(host("UPID:"), None);
    }
}

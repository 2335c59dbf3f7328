//! Client of the qemu monitor (QMP), which controls a running VM.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// Time limit for an answer of qemu.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// An exclusive connection to a monitor.
pub(crate) struct QemuMonitor {
    lines: BufReader<UnixStream>,
}

impl QemuMonitor {
    /// Connects, and waits until no other process is connected.
    pub(crate) fn open(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let mut monitor = Self { lines: BufReader::new(stream) };
        monitor.next_reply("QMP")?;
        monitor.execute("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// Executes a command and returns its result.
    pub(crate) fn execute(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        let line = json!({"execute": command, "arguments": arguments});
        writeln!(self.lines.get_mut(), "{line}")?;
        self.next_reply("return")
    }

    /// The next message with the key `kind`; events in between are skipped.
    fn next_reply(&mut self, kind: &str) -> io::Result<Value> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "qemu closed its monitor"));
            }
            let mut value: Value = serde_json::from_str(&line)?;
            if let Some(answer) = value.get_mut(kind) {
                return Ok(answer.take());
            }
            if let Some(error) = value.get("error") {
                let reason = error["desc"].as_str().unwrap_or("an error without a description");
                return Err(io::Error::other(format!("qemu: {reason}")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn events_are_skipped_and_errors_of_qemu_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("monitor");
        let listener = UnixListener::bind(&path).unwrap();
        let answers = [
            "{\"event\": \"RESUME\"}\n{\"return\": {}}",
            "{\"return\": {\"status\": \"running\"}}",
            "{\"error\": {\"class\": \"DeviceNotFound\", \"desc\": \"Device 'nic7' not found\"}}",
        ];
        let qemu = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            writeln!(stream, "{{\"QMP\": {{\"version\": {{}}}}}}").unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for answer in answers {
                lines.next().unwrap().unwrap();
                writeln!(stream, "{answer}").unwrap();
            }
        });

        let mut monitor = QemuMonitor::open(&path).unwrap();
        let status = monitor.execute("query-status", &json!({})).unwrap();
        let refused = monitor.execute("set_link", &json!({"name": "nic7", "up": false})).unwrap_err();

        assert_eq!(status["status"], "running");
        assert_eq!(refused.to_string(), "qemu: Device 'nic7' not found");
        qemu.join().unwrap();
    }
}

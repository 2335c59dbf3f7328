//! A run of `ichor up --json`, which can be killed at any moment.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ichor_testbed::schema;
use serde_json::Value;

use super::cluster::TestCluster;

/// The time limit of waiting for an event in seconds.
const PATIENCE: u64 = 600;

/// The running command, killed on drop.
pub struct UpRun {
    up: Child,
    events: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
}

impl UpRun {
    /// Starts `ichor up --json` with more arguments.
    pub fn start(cluster: &TestCluster, more: &str) -> Self {
        let mut command = cluster.command(&format!("up --json {more}"));
        let mut up = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let (stdout, kept) = (up.stdout.take().unwrap(), Arc::clone(&events));
        let reader = thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                println!("{line}");
                // A killed run may end in the middle of a line.
                let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
                schema::assert_valid("up-events", &event);
                kept.lock().unwrap().push(event);
            }
        });
        Self { up, events, reader: Some(reader) }
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Value> {
        self.events.lock().unwrap().clone()
    }

    /// Waits for an event.
    pub fn wait_for(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) {
        let start = Instant::now();
        while !self.events().iter().any(&is_it) {
            let over = self.up.try_wait().unwrap().is_some() || start.elapsed().as_secs() > PATIENCE;
            assert!(!over, "{what}: never seen in {:#?}\n{}", self.events(), self.error());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it, so that it can do nothing any more. Returns its events.
    pub fn kill(mut self) -> Vec<Value> {
        self.up.kill().unwrap();
        self.finish().1
    }

    /// Interrupts it as Ctrl-C does. Returns its exit code and events.
    pub fn interrupt(mut self) -> (Option<i32>, Vec<Value>) {
        let pid = rustix::process::Pid::from_child(&self.up);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.finish()
    }

    /// Waits for its end. Returns its exit code and events.
    pub fn finish(&mut self) -> (Option<i32>, Vec<Value>) {
        let status = self.up.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status.code(), self.events())
    }

    fn error(&mut self) -> String {
        let _ = self.up.kill();
        let mut text = String::new();
        let _ = self.up.stderr.take().map(|mut stderr| stderr.read_to_string(&mut text));
        text
    }
}

impl Drop for UpRun {
    fn drop(&mut self) {
        let _ = self.up.kill();
        let _ = self.up.wait();
    }
}

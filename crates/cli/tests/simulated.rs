//! Simulated nodes, and runs of `ichor up` on them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use ichor_testbed::schema::assert_valid;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Run, command, ichor, run_of};

/// Short delays for fast tests.
const QUICK: &str = "--install 30ms --boot 20ms --start 5ms";

/// Simulated nodes, stopped on drop.
pub struct Simulated {
    // Stopped before their folder is removed.
    nodes: Nodes,
    desk: TempDir,
    /// PID of a process in the network namespace where `ichor up` runs; none for that of the test.
    network: Option<String>,
}

/// The simulator process and its output, which must be read so that it does not block.
struct Nodes {
    child: Child,
    _said: BufReader<ChildStderr>,
}

impl Simulated {
    /// Starts nodes with short delays and additional arguments.
    pub fn start(count: usize, more: &str) -> Self {
        let desk = tempfile::tempdir().unwrap();
        let nodes = run(desk.path(), &format!("{count} -o sim {more}")).unwrap();
        Self { nodes, desk, network: None }
    }

    /// Starts nodes, and waits until all have booted.
    pub fn waiting(count: usize, more: &str) -> Self {
        let nodes = Self::start(count, more);
        let boots = |node: &Value| node["stage"] == "unknown";
        while nodes.status()["nodes"].as_array().unwrap().iter().any(boots) {
            thread::sleep(Duration::from_millis(10));
        }
        nodes
    }

    /// Nodes in one network namespace, while `ichor up` runs in another; both are given by the PID of a process. The simulator
    /// reads `file`, `ichor up` reads `known`.
    pub fn apart(
        count: usize,
        (nodes_netns, network): (&str, &str),
        file: impl Fn(&str) -> String,
        known: impl Fn(&str) -> String,
        more: &str,
    ) -> Self {
        let mut simulated = Self::start(count, "");
        simulated.nodes.end();
        let made = file(&simulated.file());
        simulated.write(&known(&made));
        fs::write(simulated.folder().join("machines.yaml"), made).unwrap();
        let words = format!("lab nodes --cluster sim/machines.yaml {more} {QUICK}");
        simulated.nodes = await_nodes(inside(nodes_netns, &command(simulated.desk.path(), &words))).unwrap();
        simulated.network = Some(network.to_owned());
        simulated
    }

    /// Nodes as machines of a provider that powers them on. The simulator reads `file`, `ichor up` reads `known`.
    pub fn provided(count: usize, file: impl Fn(&str) -> String, known: impl Fn(&str) -> String) -> Self {
        for _ in 0..9 {
            let mut simulated = Self::start(count, "");
            let made = file(&simulated.file());
            simulated.write(&known(&made));
            fs::write(simulated.folder().join("machines.yaml"), made).unwrap();
            simulated.nodes.end();
            // Another test may claim the network in between.
            match run(simulated.desk.path(), "--cluster sim/machines.yaml --off") {
                Ok(nodes) => simulated.nodes = nodes,
                Err(taken) if taken.contains("is taken") => continue,
                Err(other) => panic!("the simulator ended: {other}"),
            }
            return simulated;
        }
        panic!("others take every network")
    }

    /// Folder of the cluster.
    pub fn folder(&self) -> PathBuf {
        self.desk.path().join("sim")
    }

    /// Contents of the cluster file.
    pub fn file(&self) -> String {
        fs::read_to_string(self.folder().join("ichor.yaml")).unwrap()
    }

    /// Replaces the cluster file.
    pub fn write(&self, file: &str) {
        fs::write(self.folder().join("ichor.yaml"), file).unwrap();
    }

    /// Prepares `ichor up` with additional arguments.
    pub fn command(&self, more: &str) -> Command {
        self.ichor(&format!("up --kubeconfig kubeconfig {more}"))
    }

    /// Prepares `ichor` in the folder of the cluster.
    pub fn ichor(&self, words: &str) -> Command {
        let command = command(&self.folder(), words);
        match &self.network {
            Some(network) => inside(network, &command),
            None => command,
        }
    }

    /// Runs `ichor up`.
    pub fn up(&self, more: &str) -> Run {
        run_of(self.command(more))
    }

    /// Runs `ichor up`, which must succeed, and returns its events.
    pub fn up_well(&self, more: &str) -> Vec<Value> {
        let run = self.up(&format!("--json {more}"));
        assert_eq!(run.code, 0, "{}", run.all());
        events(&run.stdout)
    }

    /// Runs `ichor up` and kills it at the first event that matches `when`; returns whether there was one.
    pub fn up_killed(&self, when: impl Fn(&Value) -> bool) -> bool {
        killed(self.command("--json"), when)
    }

    /// Injects a fault.
    pub fn fault(&self, fault: &str) {
        let run = ichor(&self.folder(), &format!("lab nodes fault {fault} -o ."));
        assert_eq!(run.code, 0, "{}", run.all());
    }

    /// Removes all faults of a node.
    pub fn heal(&self, node: &str) {
        let run = ichor(&self.folder(), &format!("lab nodes heal {node} -o ."));
        assert_eq!(run.code, 0, "{}", run.all());
    }

    /// Status of the nodes.
    pub fn status(&self) -> Value {
        let run = ichor(&self.folder(), "lab nodes status -o . --json");
        assert_eq!(run.code, 0, "{}", run.all());
        run.json()
    }

    /// Successful calls of a method, by node.
    pub fn calls(&self, method: &str) -> Vec<String> {
        self.asked(method).into_iter().filter(|(_, code)| code == "Ok").map(|(node, _)| node).collect()
    }

    /// All calls of a method, by node and response.
    pub fn asked(&self, method: &str) -> Vec<(String, String)> {
        let journal = fs::read_to_string(self.folder().join("simulator/journal.jsonl")).unwrap();
        let lines = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let calls = lines.filter(|line| line["call"].as_str().is_some_and(|call| call.ends_with(method)));
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        calls.map(|line| (word(&line["node"]), word(&line["code"]))).collect()
    }

    /// Asserts that the cluster is up.
    pub fn assert_up(&self) {
        let status = self.status();
        for node in status["nodes"].as_array().unwrap() {
            assert_eq!((&node["stage"], &node["ready"]), (&"running".into(), &true.into()), "{node}");
        }
        assert_eq!(status["bootstrap_count"], 1, "{status}");
        assert_eq!(self.calls("/Bootstrap"), ["cp1"]);
        assert!(self.kubeconfig().contains("current-context: admin@simulated"), "{}", self.kubeconfig());
        let record = fs::read(self.folder().join(".ichor/simulated/up.json")).unwrap();
        assert_valid("up-record", &serde_json::from_slice(&record).unwrap());
    }

    pub fn kubeconfig(&self) -> String {
        fs::read_to_string(self.folder().join("kubeconfig")).unwrap()
    }
}

impl Nodes {
    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.end();
    }
}

/// A command in the network namespace of a process.
fn inside(network: &str, command: &Command) -> Command {
    let mut inside = Command::new("nsenter");
    inside.args(["--net", "--target", network]).arg(command.get_program()).args(command.get_args());
    inside.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
    inside
}

/// Starts nodes, and waits until they answer; the error is their output.
fn run(desk: &Path, words: &str) -> Result<Nodes, String> {
    await_nodes(command(desk, &format!("lab nodes {words} {QUICK}")))
}

fn await_nodes(mut nodes: Command) -> Result<Nodes, String> {
    let mut child = nodes.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let (mut all, mut line) = (String::new(), String::new());
    while !line.starts_with("next:") {
        line.clear();
        if stderr.read_line(&mut line).unwrap() == 0 {
            child.wait().unwrap();
            return Err(all);
        }
        all.push_str(&line);
    }
    Ok(Nodes { child, _said: stderr })
}

/// Runs `ichor up --json` and kills it at the first event that matches `when`; returns whether there was one.
pub fn killed(mut up: Command, when: impl Fn(&Value) -> bool) -> bool {
    let mut up = up.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out: ChildStdout = up.stdout.take().unwrap();
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    let came = lines.any(|line| serde_json::from_str(&line).is_ok_and(|event| when(&event)));
    up.kill().unwrap();
    up.wait().unwrap();
    came
}

/// Parses events.
pub fn events(stdout: &str) -> Vec<Value> {
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Finished steps, by node.
pub fn steps(events: &[Value]) -> Vec<(&str, &str)> {
    let steps = events.iter().filter(|event| event["event"] == "step" && event["state"] == "done");
    steps
        .map(|event| (event["node"].as_str().unwrap_or("cluster"), event["step"].as_str().unwrap()))
        .collect()
}

/// Whether only the owner can access a file.
pub fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777 == 0o600
}

//! An agent that only runs FRR: this test program, started again in a machine, and controlled line by line.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use ichor_agent::daemon::StopReason;
use ichor_agent::daemon::frr::{FrrInstallation, FrrRunDir, Suite, check};
use ichor_bgp::agent::Session;
use ichor_bgp::agent::status::{AgentStage, AgentStatus, PeerRole, SessionStatus};
use ichor_bgp::render::{ConfigFile, Service};
use ichor_values::{Backend, Moment};
use tokio::io::AsyncBufReadExt as _;

use ichor_testbed::lab::LabMachine;

/// Set where this program is the agent.
const DRIVER: &str = "ICHOR_FRR_DRIVER";

/// The prefix of a reply, among the other output of a test program.
const PREFIX: &str = "@ ";

/// An agent in a machine.
pub struct Agent {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    /// Starts FRR in a machine with a configuration; returns the agent's report.
    pub fn start(machine: &LabMachine, conf: &str, daemons: &str) -> (Self, String) {
        let program = machine.path("/tmp/agent");
        if !program.exists() {
            fs::copy(env::current_exe().unwrap(), &program).unwrap();
        }
        let log = fs::File::options().create(true).append(true).open(machine.path("/tmp/agent.log")).unwrap();
        let mut command = machine.enter();
        command.args([
            "env",
            &format!("{DRIVER}=1"),
            "/tmp/agent",
            "--exact",
            "frr::driver::agent",
            "--nocapture",
        ]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut agent = Self { child, to, from };
        write(machine, conf, daemons);
        let report_text = agent.send("start");
        (agent, report_text)
    }

    /// Sends a command to the agent, and returns its reply.
    pub fn send(&mut self, command: &str) -> String {
        writeln!(self.to, "{command}").unwrap();
        loop {
            let reply = self.next();
            if !reply.starts_with("healed") {
                return reply;
            }
        }
    }

    /// The next report of the agent.
    pub fn next(&mut self) -> String {
        loop {
            let line = self.from.next().expect("the agent has ended").unwrap();
            if let Some((_, report_text)) = line.split_once(PREFIX) {
                return report_text.to_owned();
            }
        }
    }

    /// Waits until the agent has recovered something that starts with `what`; returns how long that took.
    pub fn wait_for_recovery(&mut self, what: &str) -> Duration {
        let start = Instant::now();
        while !self.next().starts_with(&format!("healed {what}")) {}
        start.elapsed()
    }

    /// Reloads FRR with another configuration.
    pub fn reload(&mut self, machine: &LabMachine, conf: &str, daemons: &str) -> String {
        write(machine, conf, daemons);
        self.send("reload")
    }

    /// Stops FRR and the agent.
    pub fn stop(mut self, how: &str) {
        assert_eq!(self.send(how), "stopped");
        self.child.wait().unwrap();
    }

    /// Kills the agent; its daemons keep running.
    pub fn kill(mut self, machine: &LabMachine) {
        machine.ask("pkill -KILL -x agent");
        self.child.wait().unwrap();
    }
}

fn write(machine: &LabMachine, conf: &str, daemons: &str) {
    machine.write("/tmp/frr.conf", conf);
    machine.write("/tmp/daemons", daemons);
}

fn service() -> Service {
    let file = |name, path| ConfigFile { name, text: fs::read_to_string(path).unwrap(), private: false };
    let files = vec![file("frr.conf", "/tmp/frr.conf"), file("daemons", "/tmp/daemons")];
    Service { name: "frr", version: (10, 3), folder: "/usr/local/etc/frr", files }
}

fn report(line: impl std::fmt::Display) {
    println!("\n{PREFIX}{line}");
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn agent() {
    if env::var_os(DRIVER).is_none() {
        return;
    }
    let mut lines = tokio::io::BufReader::new(tokio::io::stdin()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("start"));
    let run_dir = FrrRunDir::create(FrrInstallation::find().await.unwrap(), Some("node")).unwrap();
    if let Err(error) = check(run_dir.install(), run_dir.run(), &service()).await {
        return report(format_args!("error {}", chain(&error)));
    }
    let mut suite = match Suite::start(run_dir, &service()).await {
        Ok(suite) => suite,
        Err(error) => return report(format_args!("error {}", chain(&error))),
    };
    match suite.rejected() {
        None => report("started"),
        Some(rejected) => report(format_args!("partly {rejected}")),
    }
    loop {
        let line = tokio::select! {
            recovered = suite.supervise() => {
                for it in recovered {
                    report(format_args!("healed {}: {}", it.daemon, it.reason));
                }
                continue;
            }
            line = lines.next_line() => line.unwrap().unwrap_or_default(),
        };
        match line.as_str() {
            "reload" => match suite.reload(&service()).await {
                Ok(()) => report("reloaded"),
                Err(error) => report(format_args!("error {}", chain(&error))),
            },
            "sessions" => match suite.sessions().await {
                Ok(sessions) => report(status(sessions).line()),
                Err(error) => report(format_args!("error {}", chain(&error))),
            },
            "routes" => match suite.routes().await {
                Ok(routes) => report(format_args!("{routes:?}")),
                Err(error) => report(format_args!("error {}", chain(&error))),
            },
            "planned" => break suite.stop(StopReason::Planned).await,
            "leaving" => break suite.stop(StopReason::Leaving).await,
            other => panic!("{other}?"),
        }
    }
    report("stopped");
}

/// Sessions in a format for the other process.
fn status(sessions: Vec<Session>) -> AgentStatus {
    let sessions =
        sessions.into_iter().map(|session| SessionStatus { session, with: PeerRole::Fabric, trouble: None });
    AgentStatus {
        time: Moment::from_unix(0).unwrap(),
        node: String::new(),
        agent: String::new(),
        backend: Backend::Frr,
        version: None,
        stage: AgentStage::Running,
        reason: None,
        waiting: Vec::new(),
        sessions: sessions.collect(),
        anycast: None,
        daemons: Vec::new(),
        reload: None,
        restored: 0,
    }
}

//! An agent that only runs FRR: this very program, started a second time in a machine, told what to do line by line.

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
const HERE: &str = "ICHOR_FRR_DRIVER";

/// What stands before an answer, among all else that a test program says.
const SIGN: &str = "@ ";

/// An agent in a machine.
pub struct Agent {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    /// Starts FRR in a machine with a configuration; what it said when that ran.
    pub fn start(machine: &LabMachine, conf: &str, daemons: &str) -> (Self, String) {
        let program = machine.path("/tmp/agent");
        if !program.exists() {
            fs::copy(env::current_exe().unwrap(), &program).unwrap();
        }
        let log = fs::File::options().create(true).append(true).open(machine.path("/tmp/agent.log")).unwrap();
        let mut command = machine.enter();
        command.args([
            "env",
            &format!("{HERE}=1"),
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
        let said = agent.tell("start");
        (agent, said)
    }

    /// Tells the agent something, and waits for its answer.
    pub fn tell(&mut self, command: &str) -> String {
        writeln!(self.to, "{command}").unwrap();
        loop {
            let said = self.next();
            if !said.starts_with("healed") {
                return said;
            }
        }
    }

    /// The next thing the agent says.
    pub fn next(&mut self) -> String {
        loop {
            let line = self.from.next().expect("the agent has ended").unwrap();
            if let Some((_, said)) = line.split_once(SIGN) {
                return said.to_owned();
            }
        }
    }

    /// Waits until the agent has put something right that starts so; how long that took.
    pub fn healed(&mut self, what: &str) -> Duration {
        let start = Instant::now();
        while !self.next().starts_with(&format!("healed {what}")) {}
        start.elapsed()
    }

    /// Gives FRR another configuration.
    pub fn reload(&mut self, machine: &LabMachine, conf: &str, daemons: &str) -> String {
        write(machine, conf, daemons);
        self.tell("reload")
    }

    /// Ends FRR and the agent.
    pub fn stop(mut self, how: &str) {
        assert_eq!(self.tell(how), "stopped");
        self.child.wait().unwrap();
    }

    /// Ends the agent as the kernel would; its daemons go on.
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

fn say(line: impl std::fmt::Display) {
    println!("\n{SIGN}{line}");
}

/// An error with what caused it.
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
    if env::var_os(HERE).is_none() {
        return;
    }
    let mut lines = tokio::io::BufReader::new(tokio::io::stdin()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("start"));
    let place = FrrRunDir::take(FrrInstallation::find().await.unwrap(), Some("node")).unwrap();
    if let Err(error) = check(place.install(), place.run(), &service()).await {
        return say(format_args!("error {}", chain(&error)));
    }
    let mut suite = match Suite::start(place, &service()).await {
        Ok(suite) => suite,
        Err(error) => return say(format_args!("error {}", chain(&error))),
    };
    match suite.refused() {
        None => say("started"),
        Some(refused) => say(format_args!("partly {refused}")),
    }
    loop {
        let line = tokio::select! {
            healed = suite.supervise() => {
                for it in healed {
                    say(format_args!("healed {}: {}", it.daemon, it.why));
                }
                continue;
            }
            line = lines.next_line() => line.unwrap().unwrap_or_default(),
        };
        match line.as_str() {
            "reload" => match suite.reload(&service()).await {
                Ok(()) => say("reloaded"),
                Err(error) => say(format_args!("error {}", chain(&error))),
            },
            "sessions" => match suite.sessions().await {
                Ok(sessions) => say(status(sessions).line()),
                Err(error) => say(format_args!("error {}", chain(&error))),
            },
            "routes" => match suite.routes().await {
                Ok(routes) => say(format_args!("{routes:?}")),
                Err(error) => say(format_args!("error {}", chain(&error))),
            },
            "planned" => break suite.stop(StopReason::Planned).await,
            "leaving" => break suite.stop(StopReason::Leaving).await,
            other => panic!("{other}?"),
        }
    }
    say("stopped");
}

/// Sessions in the format that crosses from one process to the other.
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

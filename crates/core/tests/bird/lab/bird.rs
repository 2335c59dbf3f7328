//! The releases of BIRD in the tests.

use std::collections::BTreeMap;

use ichor_bgp::model::BgpModel;
use ichor_values::Backend;

use ichor_testbed::lab::{LabMachine, RootFileSystem, wait_for};
use ichor_testbed::planned_case;
use ichor_testbed::routing::{cases, model, services};

/// A release of BIRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bird {
    /// 2.0.12, of this host: `scripts/tools bird`.
    V2_0,
    /// 2.17, from `scripts/lab-root`.
    V2_17,
}

impl Bird {
    pub const ALL: [Self; 2] = [Self::V2_0, Self::V2_17];

    /// Its version in a cluster file.
    pub fn version(self) -> &'static str {
        match self {
            Self::V2_0 => "2.0.12",
            Self::V2_17 => "2.17",
        }
    }

    /// Whether it reads files for a release.
    pub fn reads(self, release: (u16, u16)) -> bool {
        match self {
            Self::V2_0 => release < (2, 17),
            Self::V2_17 => ((2, 17)..(2, 19)).contains(&release),
        }
    }

    /// A machine with this BIRD, not started.
    pub fn machine(self) -> LabMachine {
        let machine = LabMachine::new(self.root());
        self.prepare(&machine);
        machine
    }

    /// A machine on the network of another.
    pub fn beside(self, other: &LabMachine) -> LabMachine {
        let machine = LabMachine::beside(other, self.root());
        self.prepare(&machine);
        machine
    }

    fn root(self) -> RootFileSystem {
        match self {
            Self::V2_0 => RootFileSystem::Own,
            Self::V2_17 => RootFileSystem::Trixie,
        }
    }

    fn prepare(self, machine: &LabMachine) {
        let found = machine.run("bird --version 2>&1");
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(
            found.contains(&format!("version {}", self.version())),
            "no BIRD {}: {found}; `scripts/tools bird` and `scripts/lab-root` install what is tried",
            self.version()
        );
        machine.ask("mkdir -p /run/bird");
    }
}

/// The file of a node.
pub struct NodeFile {
    pub name: String,
    pub conf: String,
    pub model: BgpModel,
}

/// Every file of every case for a release.
pub fn node_files(bird: Bird) -> Vec<NodeFile> {
    let mut all = Vec::new();
    for case in cases() {
        let (cluster, plan) = planned_case(&case, "ichor.yaml");
        for (node, service) in services(&case) {
            let node = plan.node(&node).unwrap();
            let version = node.routing.as_deref().unwrap().version.as_ref();
            let release = version.map_or((2, 17), |version| version.value.minor());
            if node.routing.as_deref().unwrap().backend.value == Backend::Bird && bird.reads(release) {
                let name = format!("{}-{}", case.file_name().unwrap().to_str().unwrap(), node.name);
                let conf = service.files[0].text.clone();
                all.push(NodeFile { name, conf, model: model(&cluster, &plan, node) });
            }
        }
    }
    assert!(!all.is_empty(), "no case for {bird:?}");
    all
}

/// Starts BIRD with a file.
pub fn start(machine: &LabMachine, conf: &str) {
    machine.write("/tmp/bird.conf", conf);
    start_again(machine, "");
}

/// Restarts BIRD with its file and more options.
pub fn start_again(machine: &LabMachine, options: &str) {
    let command = format!("bird -f {options} -c /tmp/bird.conf -s /run/bird/bird.ctl");
    machine.start(&command, "/run/bird/bird.ctl");
    wait_for("bird", || machine.run("birdc show status").status.success(), || log(machine));
}

/// Its output.
pub fn log(machine: &LabMachine) -> String {
    machine.ask("cat /tmp/log-of-start")
}

/// The state of each protocol, by name, and the lines below it without indentation.
pub fn protocols(machine: &LabMachine) -> BTreeMap<String, Vec<String>> {
    let output = machine.ask("birdc show protocols all");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = "";
    for line in output.lines().skip(2).filter(|line| !line.is_empty()) {
        if !line.starts_with(' ') {
            current = line.split_whitespace().next().unwrap();
        }
        let words: Vec<_> = line.split_whitespace().collect();
        found.entry(current.to_owned()).or_default().push(words.join(" "));
    }
    found
}

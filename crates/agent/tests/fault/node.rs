//! A node that runs the agent, its leaf, and its complete visible state.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for};

/// The node's address.
const ADDRESS: &str = "10.0.0.1";

/// All that an agent could leave behind, one object per line. Values that change with every link or process are
/// omitted: numbers, MAC addresses of created links, and the link-local addresses derived from them. So is the kernel's
/// own default route from a leaf's advertisement, which comes and goes where the kernel does not forward.
const SNAPSHOT: &str = r#"
links() {
    ip -o -d link | sed -E 's/^[0-9]+: //; s/@[^:]*:/:/; s/link\/ether [0-9a-f:]+//; s/link-netns(id)? [^ ]+//' |
        sed "s/^/$1 link /"
    ip -o address | sed -E 's/^[0-9]+: //; s/fe80::[0-9a-f:]+/fe80::/g' | sed "s/^/$1 address /"
    for family in -4 -6; do
        ip $family route show table all | grep -v 'proto ra' | sed -E 's/nhid [0-9]+//; s/fe80::[0-9a-f:]+/fe80::/g' |
            sed "s/^/$1 route /"
        ip $family rule | sed "s/^/$1 rule /"
    done
    ip nexthop | sed -E 's/^id [0-9]+//; s/fe80::[0-9a-f:]+/fe80::/g' | sed "s/^/$1 next hop /"
    grep -rs . /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/fib* |
        grep -v stable_secret | sed "s/^/$1 switch /"
    ss -Hln -x | awk '{ print $5 }' | sed "s/^/$1 socket /"
    ss -Hln -t -u -w | awk '{ print $1, $4 }' | sed -E 's/fe80::[^ ]+/fe80::/' | sed "s/^/$1 socket /"
}
links node
for name in $(ls /run/netns 2>/dev/null); do
    echo "namespace $name"
    nsenter --net="/run/netns/$name" sh -c "$(declare -f links); links $name"
done
sed -nE 's/^([^ ]+ ){4}([^ ]+).* - nsfs .*/mount \2/p' /proc/self/mountinfo
for folder in /proc/[0-9]*; do
    case "$(readlink "$folder/exe")" in
    */ichor-agent | */frr/*) echo "process $(tr '\0' ' ' <"$folder/cmdline")" ;;
    esac
done
find /run /tmp /var/tmp /etc/frr /var/lib/frr -printf 'file %y %m %u %p\n' 2>/dev/null |
    sed -E 's/(\/var\/tmp\/frr\/[a-z]+\.)[0-9]+/\1PID/; s/logbuf\.[0-9]+/logbuf.PID/'
true
"#;

/// A node and a leaf, connected by a cable.
pub struct Node {
    pub machine: LabMachine,
    pub leaf: LabMachine,
    variables: Vec<String>,
}

/// A running agent.
pub struct Agent {
    child: Child,
    pid: Pid,
}

impl Node {
    /// A node without faults.
    pub fn new() -> Self {
        let Self { machine, leaf, mut variables } = Self::without_leaf();
        leaf.cable("eth0", &machine, "eth0");
        Frr::V8.start(&leaf, None);
        let loaded = Frr::load(
            &leaf,
            "frr defaults datacenter\nhostname leaf\ninterface eth0\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\nexit\n\
             ip route 198.51.100.0/24 blackhole\nrouter bgp 65100\n bgp router-id 10.0.0.100\n coalesce-time 0\n \
             neighbor eth0 interface v6only remote-as external\n address-family ipv4 unicast\n  redistribute static\n \
             exit-address-family\nexit\n",
        );
        assert!(loaded.status.success(), "{loaded:?}");
        let is_up = || machine.ask("ip -6 address show dev eth0").contains("fe80::");
        wait_for("a port that is up", is_up, String::new);
        let mac = machine.ask("cat /sys/class/net/eth0/address");
        variables.push(format!("FE_MACS={}", mac.trim()));
        Self { machine, leaf, variables }
    }

    /// A node without a cable.
    pub fn without_leaf() -> Self {
        let (leaf, machine) = (Frr::V8.machine(), Frr::V8.machine());
        machine.ask(&format!("ip address add {ADDRESS}/32 dev lo"));
        machine.write("/tmp/look", SNAPSHOT);
        fs::copy(env!("CARGO_BIN_EXE_ichor-agent"), machine.path("/tmp/ichor-agent")).unwrap();
        let variables = ["ICHOR_VARIANT=namespace", "ICHOR_LOG=debug", "ASN_LOCAL=65001"].map(str::to_owned);
        let address = format!("NODE_IP={ADDRESS}");
        Self { machine, leaf, variables: variables.into_iter().chain([address]).collect() }
    }

    /// The agent with these arguments.
    pub fn command(&self, words: &str) -> Command {
        self.command_by("", words)
    }

    /// The same, with a wrapper that drops privileges.
    fn command_by(&self, by: &str, words: &str) -> Command {
        let mut enter = self.machine.enter();
        enter.arg("env").args(&self.variables).args(by.split_whitespace());
        enter.arg("/tmp/ichor-agent").args(words.split_whitespace()).stdin(Stdio::null());
        enter
    }

    /// Starts the agent, and returns its log line by line.
    pub fn start(&self) -> (Agent, Receiver<String>) {
        self.start_by("", "run")
    }

    /// The same with other arguments and a wrapper.
    pub fn start_by(&self, by: &str, words: &str) -> (Agent, Receiver<String>) {
        let mut child =
            self.command_by(by, words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (log, lines) = mpsc::channel();
        let log_lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // The agent may log on after the receiver is dropped.
        thread::spawn(move || log_lines.map_while(Result::ok).for_each(|line| drop(log.send(line))));
        // The process that enters a machine has the program as its child.
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let start = Instant::now();
        let pid = loop {
            let found = fs::read_to_string(&children).unwrap_or_default();
            if let Some(pid) = found.split_whitespace().next() {
                break Pid::from_raw(pid.parse().unwrap());
            }
            assert!(start.elapsed() < Duration::from_secs(10), "the agent does not start");
            thread::sleep(Duration::from_millis(1));
        };
        (Agent { child, pid }, lines)
    }

    /// Starts the agent and waits until it is idle; its log goes to the test's.
    pub fn start_and_wait(&self) -> Agent {
        let (agent, log) = self.start();
        thread::spawn(move || log.into_iter().for_each(|line| eprintln!("  {line}")));
        let has_routes = || {
            self.machine.ask("ip route show 198.51.100.0/24").contains("via")
                && self.leaf.ask(&format!("ip route show {ADDRESS}")).contains("via")
        };
        wait_for("routes at both ends", has_routes, || self.snapshot().join("\n"));
        // After the routes come the last files, and routes that a daemon withdraws after a restart.
        thread::sleep(Duration::from_secs(2));
        agent
    }

    /// Removes everything that the agent created.
    pub fn down(&self) {
        let output = self.command("down").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Kills every process of the machine at once.
    pub fn kill_all(&self) {
        // The shell that does it is spared, its parent is not.
        self.machine.run("kill -KILL -1");
    }

    /// A snapshot of the machine's state.
    pub fn snapshot(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.machine.ask("bash /tmp/look").lines().map(|line| line.trim_end().to_owned()).collect();
        lines.sort();
        lines
    }
}

impl Agent {
    /// The CPU time used.
    pub fn used(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).expect("it runs");
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        // Hundredths of a second, in user mode and in the kernel.
        let ticks: u64 = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 10)
    }

    /// Kills only the agent.
    pub fn kill(self) {
        self.end(Signal::SIGKILL);
    }

    /// Stops it as Talos does.
    pub fn stop(self) {
        self.end(Signal::SIGTERM);
    }

    fn end(mut self, signal: Signal) {
        kill(self.pid, signal).unwrap();
        self.child.wait().unwrap();
    }
}

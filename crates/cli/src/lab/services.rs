//! Services of a machine: FRR on a router; the agent, the speaker and an API server stand-in on a node.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ichor_bgp::agent::frr;
use ichor_core::lab::HostCapabilities;
use ichor_core::lab::topology::{LabMachine, LabSpeaker, MachineRole};
use ichor_values::Backend;

use super::machine::PATH;
use super::record::LabRecord;
use super::{health, mounts};

/// Time limit for starting a daemon; longer with emulation.
const START_TIMEOUT: Duration = Duration::from_mins(1);
const EMULATED_START_TIMEOUT: Duration = Duration::from_mins(15);

/// API socket of the speaker.
pub(crate) const SPEAKER: &str = "/run/lab/speaker.sock";

/// Configuration file of the speaker, which also identifies its process.
pub(crate) const SPEAKER_CONF: &str = "/run/lab/gobgpd.toml";

/// Starts all services; called by the init process of the machine.
pub(crate) fn start(machine: &LabMachine, record: &LabRecord) -> io::Result<()> {
    let timeout = if record.emulated { EMULATED_START_TIMEOUT } else { START_TIMEOUT };
    match &machine.part {
        MachineRole::Router { conf, daemons, .. } => start_frr(conf, daemons, &record.host, timeout),
        MachineRole::Node { backend, agent, health, speaker, .. } => {
            if let Some(url) = health {
                health::serve_ok(url)?;
            }
            start_agent(*backend, agent)?;
            speaker.as_ref().map_or(Ok(()), |speaker| start_speaker(speaker, timeout))
        }
        MachineRole::Guest(_) | MachineRole::Outside { .. } => Ok(()),
    }
}

fn start_frr(conf: &str, daemons: &str, host: &HostCapabilities, timeout: Duration) -> io::Result<()> {
    let (user, group) = account("frr")?;
    fs::create_dir_all("/run/frr")?;
    chown("/run/frr", Some(user), Some(group))?;
    File::create("/etc/frr/vtysh.conf")?;
    fs::write("/etc/frr/frr.conf", conf)?;
    let version = host.frr.as_ref().map_or((8, 4), |version| version.minor());
    for run in frr::daemons(daemons, version).map_err(io::Error::other)? {
        let name = run.daemon.name();
        program(&format!("/usr/lib/frr/{name}")).args(run.options).spawn().map_err(with_name(name))?;
        wait_for(name, timeout, || Path::new(&format!("/run/frr/{name}.vty")).exists())?;
    }
    run_to_end(program("vtysh").args(["-f", "/etc/frr/frr.conf"]))
}

fn start_agent(backend: Backend, agent: &str) -> io::Result<()> {
    let folder = match backend {
        Backend::Frr => "/usr/local/etc/frr",
        Backend::Bird => "/usr/local/etc/bird",
        Backend::Gobgp | Backend::Native => "/usr/local/etc/gobgp",
    };
    fs::create_dir_all(folder)?;
    fs::write(Path::new(folder).join("agent.json"), agent)?;
    program(mounts::AGENT).arg("run").spawn().map_err(with_name("ichor-agent"))?;
    Ok(())
}

/// Starts the speaker once the agent has created the link to it, and adds its prefixes. Prefixes that must be rejected
/// come first, so they have been rejected when the others arrive.
fn start_speaker(speaker: &LabSpeaker, timeout: Duration) -> io::Result<()> {
    let own =
        |line: &str| line.strip_prefix("local-address = ").map(|text| text.trim_matches('"').to_owned());
    let own: Option<IpAddr> = speaker.conf.lines().find_map(own).and_then(|text| text.parse().ok());
    let Some(own) = own else { return Err(io::Error::other("the speaker has no address")) };
    wait_for("the link to the speaker", timeout, || UdpSocket::bind((own, 0)).is_ok())?;
    fs::write(SPEAKER_CONF, &speaker.conf)?;
    let api = format!("unix://{SPEAKER}");
    program("gobgpd")
        .args(["-f", SPEAKER_CONF, "--pprof-disable", "--api-hosts", &api])
        .spawn()
        .map_err(with_name("gobgpd"))?;
    wait_for("gobgpd", timeout, || Path::new(SPEAKER).exists())?;
    for net in speaker.refused.iter().chain(&speaker.announces) {
        let family = if net.addr().is_ipv4() { "ipv4" } else { "ipv6" };
        let net = net.to_string();
        // gobgp times out after a second, which is too short with emulation.
        let add = ["--target", &api, "global", "rib", "add", "-a", family, &net];
        wait_for("gobgpd", timeout, || run_to_end(program("gobgp").args(add)).is_ok())?;
    }
    Ok(())
}

/// A program of the machine, whose output goes to the machine's log.
fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear().env("PATH", PATH).stdin(Stdio::null());
    command.stdout(io::stderr());
    command
}

fn with_name(name: &str) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// Runs a program and waits for it.
fn run_to_end(command: &mut Command) -> io::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(with_name(&name))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{name}: {status}"))) }
}

fn wait_for(what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) -> io::Result<()> {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > timeout {
            return Err(io::Error::other(format!("{what} did not appear within {} s", timeout.as_secs())));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// User and group of an account.
fn account(name: &str) -> io::Result<(u32, u32)> {
    let text = fs::read_to_string("/etc/passwd")?;
    let entry = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let numbers = entry.and_then(|rest| {
        let mut fields = rest.split(':').skip(1).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    });
    numbers.ok_or_else(|| {
        io::Error::other(format!("missing user {name}; install FRR's package, which creates it"))
    })
}

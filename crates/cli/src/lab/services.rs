//! What runs in a machine: FRR on a router; the agent, the speaker and what stands for the API server on a node.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ichor_bgp::agent::frr;
use ichor_core::lab::Here;
use ichor_core::lab::scene::{Machine, Part, Speaker};
use ichor_values::Backend;

use super::machine::PATH;
use super::record::Record;
use super::{health, mounts};

/// How long a daemon may take to be there; where all is emulated that is long.
const PATIENCE: Duration = Duration::from_mins(1);
const EMULATED: Duration = Duration::from_mins(15);

/// The speaker's socket, on which it is told what to announce.
pub(crate) const SPEAKER: &str = "/run/lab/speaker.sock";

/// What the speaker reads: it is known by that among a machine's processes.
pub(crate) const SPEAKER_CONF: &str = "/run/lab/gobgpd.toml";

/// Starts everything. The process is the first of the machine.
pub(crate) fn start(machine: &Machine, record: &Record) -> io::Result<()> {
    let patience = if record.emulated { EMULATED } else { PATIENCE };
    match &machine.part {
        Part::Router { conf, daemons, .. } => router(conf, daemons, &record.here, patience),
        Part::Node { backend, agent, health, speaker, .. } => {
            if let Some(url) = health {
                health::answer(url)?;
            }
            node(*backend, agent)?;
            speaker.as_ref().map_or(Ok(()), |speaker| speak(speaker, patience))
        }
        Part::Guest(_) | Part::Outside { .. } => Ok(()),
    }
}

fn router(conf: &str, daemons: &str, here: &Here, patience: Duration) -> io::Result<()> {
    let (user, group) = account("frr")?;
    fs::create_dir_all("/run/frr")?;
    chown("/run/frr", Some(user), Some(group))?;
    File::create("/etc/frr/vtysh.conf")?;
    fs::write("/etc/frr/frr.conf", conf)?;
    let version = here.frr.as_ref().map_or((8, 4), |version| version.minor());
    for run in frr::daemons(daemons, version).map_err(io::Error::other)? {
        let name = run.daemon.name();
        program(&format!("/usr/lib/frr/{name}")).args(run.options).spawn().map_err(named(name))?;
        wait_for(name, patience, || Path::new(&format!("/run/frr/{name}.vty")).exists())?;
    }
    done(program("vtysh").args(["-f", "/etc/frr/frr.conf"]))
}

fn node(backend: Backend, agent: &str) -> io::Result<()> {
    let folder = match backend {
        Backend::Frr => "/usr/local/etc/frr",
        Backend::Bird => "/usr/local/etc/bird",
        Backend::Gobgp | Backend::Native => "/usr/local/etc/gobgp",
    };
    fs::create_dir_all(folder)?;
    fs::write(Path::new(folder).join("agent.json"), agent)?;
    program(mounts::AGENT).arg("run").spawn().map_err(named("ichor-agent"))?;
    Ok(())
}

/// Starts the speaker when the agent has made the link to it, and tells it what to announce: what is refused comes first, so
/// that it was refused when the rest is there.
fn speak(speaker: &Speaker, patience: Duration) -> io::Result<()> {
    let own =
        |line: &str| line.strip_prefix("local-address = ").map(|text| text.trim_matches('"').to_owned());
    let own: Option<IpAddr> = speaker.conf.lines().find_map(own).and_then(|text| text.parse().ok());
    let Some(own) = own else { return Err(io::Error::other("the speaker has no address")) };
    wait_for("the link to the speaker", patience, || UdpSocket::bind((own, 0)).is_ok())?;
    fs::write(SPEAKER_CONF, &speaker.conf)?;
    let api = format!("unix://{SPEAKER}");
    program("gobgpd")
        .args(["-f", SPEAKER_CONF, "--pprof-disable", "--api-hosts", &api])
        .spawn()
        .map_err(named("gobgpd"))?;
    wait_for("gobgpd", patience, || Path::new(SPEAKER).exists())?;
    for net in speaker.refused.iter().chain(&speaker.announces) {
        let family = if net.addr().is_ipv4() { "ipv4" } else { "ipv6" };
        let net = net.to_string();
        // gobgp gives up after a second, which is too short where all is emulated.
        let add = ["--target", &api, "global", "rib", "add", "-a", family, &net];
        wait_for("gobgpd", patience, || done(program("gobgp").args(add)).is_ok())?;
    }
    Ok(())
}

/// A program of the machine. What it says goes where the machine's first process says it.
fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear().env("PATH", PATH).stdin(Stdio::null());
    command.stdout(io::stderr());
    command
}

fn named(name: &str) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// Runs a program to its end.
fn done(command: &mut Command) -> io::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(named(&name))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{name}: {status}"))) }
}

fn wait_for(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) -> io::Result<()> {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() > patience {
            return Err(io::Error::other(format!("{what} is not there after {} s", patience.as_secs())));
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
    numbers.ok_or_else(|| io::Error::other(format!("there is no user {name}: FRR's package makes it")))
}

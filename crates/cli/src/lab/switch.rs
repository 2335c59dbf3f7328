//! The network in which a lab's cables are: a bridge for each, and a port on it for each end.
//!
//! A cable is cut by taking its ports down, which the machines at its ends see; silently, by taking them off the bridge.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use ichor_core::lab::LabTopology;
use ichor_core::lab::scene::{CableEnd, LabCable, LabMachine, MachineRole};
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use ichor_values::nearest;

use super::{Lab, LabError, guest};

/// How long the cables of a large lab may take, where all is emulated.
const IP_TIMEOUT: Duration = Duration::from_mins(15);

/// The metric of routes that Talos makes.
const DHCP_METRIC: u32 = 1024;

/// The first table of the ways in.
const INGRESS_TABLE: usize = 100;

/// The start of a command in a network: what follows is a program of this machine.
pub(crate) fn enter_netns(pid: i32) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--target", &pid.to_string(), "--net", "--"]);
    command
}

/// The port of a cable's end in the hub.
pub(crate) fn port(cable: usize, end: usize) -> String {
    format!("c{cable}e{end}")
}

/// The bridge of a cable.
pub(crate) fn bridge(cable: usize) -> String {
    format!("cable{cable}")
}

/// Gives `ip` many lines at once, in the network of a process.
pub(crate) fn run_ip_batch(pid: i32, options: &[&str], lines: &[String]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut command = enter_netns(pid);
    command.arg("ip").args(options).args(["-batch", "-"]);
    let mut text = lines.join("\n");
    text.push('\n');
    let run = ProgramRun::new(command, IP_TIMEOUT).input(text).without_stdout();
    let Err(error) = run.run().and_then(ProgramOutput::succeeded) else { return Ok(()) };
    let ProgramError::Failed(output) = error else { return Err(error.into()) };
    let said = output.stderr_text();
    let nth = said.rsplit(':').next().and_then(|number| number.trim().parse::<usize>().ok());
    let line = nth.and_then(|nth| lines.get(nth.checked_sub(1)?));
    let line = line.map_or_else(String::new, |line| format!(" at `ip {line}`"));
    Err(io::Error::other(format!("ip: {}{line}", said.lines().next().unwrap_or_default())))
}

/// Makes every cable, with the machines' ends in their networks; those of virtual machines stay in the hub.
pub(crate) fn create_cables(scene: &LabTopology, hub: i32, machines: &[i32], dummy: bool) -> io::Result<()> {
    let mut lines = Vec::new();
    for (nth, cable) in scene.cables.iter().enumerate() {
        let ports = cable.ends.iter().map(|end| &scene.machines[end.machine].ports[end.port]);
        let mtu = ports.clone().filter_map(|port| port.mtu).max();
        let long = mtu.map(|mtu| format!(" mtu {mtu}")).unwrap_or_default();
        lines.push(format!("link add {}{long} type bridge mcast_snooping 0", bridge(nth)));
        lines.push(format!("link set {} up", bridge(nth)));
        for ((at, end), far) in cable.ends.iter().enumerate().zip(ports) {
            let mac = far.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
            // An end without an MTU of its own can do what the others send.
            let own = far.mtu.or(mtu).map(|mtu| format!(" mtu {mtu}")).unwrap_or_default();
            let near = port(nth, at);
            if matches!(scene.machines[end.machine].part, MachineRole::Guest(_)) {
                lines.push(format!("tuntap add dev {near} mode tap"));
                lines.push(format!("link set {near}{long} master {} up", bridge(nth)));
                continue;
            }
            lines.push(format!(
                "link add {near}{long} type veth peer name {}{mac}{own} netns {}",
                far.name, machines[end.machine]
            ));
            lines.push(format!("link set {near} master {} up", bridge(nth)));
        }
    }
    if !dummy {
        for (nth, machine) in scene.machines.iter().enumerate() {
            for (at, (name, mtu)) in machine.dummies.iter().enumerate() {
                let mtu = mtu.map(|mtu| format!(" mtu {mtu}")).unwrap_or_default();
                let near = format!("d{nth}x{at}");
                lines.push(format!(
                    "link add {near}{mtu} type veth peer name {name}{mtu} netns {}",
                    machines[nth]
                ));
                lines.push(format!("link set {near} up"));
            }
        }
    }
    run_ip_batch(hub, &[], &lines)
}

/// Gives a machine its links, addresses and routes; a virtual one finds them in its configuration.
pub(crate) fn configure_machine(machine: &LabMachine, pid: i32, dummy: bool) -> io::Result<()> {
    if matches!(machine.part, MachineRole::Guest(_)) {
        return Ok(());
    }
    let mut lines = vec!["link set lo up".to_owned()];
    for (name, table) in &machine.vrfs {
        lines.push(format!("link add {name} type vrf table {table}"));
        lines.push(format!("link set {name} up"));
    }
    for (name, mtu) in &machine.dummies {
        if dummy {
            let mtu = mtu.map(|mtu| format!(" mtu {mtu}")).unwrap_or_default();
            lines.push(format!("link add {name}{mtu} type dummy"));
        }
        lines.push(format!("link set {name} up"));
    }
    for (link, net) in &machine.addresses {
        lines.push(address_line(net, link));
    }
    for port in &machine.ports {
        let master = port.vrf.as_ref().map(|vrf| format!(" master {vrf}")).unwrap_or_default();
        let alias = port.alias.as_ref().map(|alias| format!(" alias {alias}")).unwrap_or_default();
        lines.push(format!("link set {}{master}{alias} up", port.name));
        lines.extend(port.addresses.iter().map(|net| address_line(net, &port.name)));
    }
    lines.extend(machine.gateways.iter().map(|via| format!("route add default via {via} metric {METRIC}")));
    let mut rules = [Vec::new(), Vec::new()];
    if let MachineRole::Outside { doors } = &machine.part {
        for (nth, door) in doors.iter().enumerate() {
            let table = INGRESS_TABLE + nth;
            let through = door.through.iter().map(|via| format!("route add default via {via} table {table}"));
            lines.extend(through);
            // Whoever names no source comes in by the first door.
            if nth == 0 {
                lines.extend(door.through.iter().map(|via| format!("route add default via {via}")));
            }
            for source in &door.sources {
                rules[usize::from(source.is_ipv6())].push(format!("rule add from {source} lookup {table}"));
            }
        }
    }
    run_ip_batch(pid, &[], &lines)?;
    run_ip_batch(pid, &["-4"], &rules[0])?;
    run_ip_batch(pid, &["-6"], &rules[1])
}

fn address_line(net: &ipnet::IpNet, link: &str) -> String {
    let nodad = if matches!(net.addr(), IpAddr::V6(_)) { " nodad" } else { "" };
    format!("address add {net} dev {link}{nodad}")
}

/// An end of a cable: which cable, and which of its ends.
pub(crate) type CableEndIndex = (usize, usize);

/// Every end of every cable.
pub(crate) fn ends(scene: &LabTopology) -> Vec<CableEndIndex> {
    let of = |(nth, cable): (usize, &LabCable)| {
        (0..cable.ends.len()).map(move |end| (nth, end)).collect::<Vec<_>>()
    };
    scene.cables.iter().enumerate().flat_map(of).collect()
}

/// The ends that names mean: a cable by its name or by either end, or all cables of a machine. Where a cable has two ends, both
/// go with one.
pub(crate) fn find_ends(lab: &Lab, names: &[String]) -> Result<Vec<CableEndIndex>, LabError> {
    let scene = lab.scene();
    let mut found = BTreeSet::new();
    for name in names {
        let mut ends = BTreeSet::new();
        for (nth, cable) in scene.cables.iter().enumerate() {
            let matches =
                |plug: &CableEnd| has_name(scene, *plug, name) || scene.machines[plug.machine].name == *name;
            let all = cable.name == *name || (cable.ends.len() == 2 && cable.ends.iter().any(matches));
            let of = cable.ends.iter().enumerate().filter(|(_, plug)| all || find_ends(plug));
            ends.extend(of.map(|(end, _)| (nth, end)));
        }
        if ends.is_empty() {
            let near = nearest(name, all_names(scene).iter().map(String::as_str)).map(str::to_owned);
            return Err(LabError::Unknown { name: name.clone(), near });
        }
        // More than one name may mean the same cable.
        found.extend(ends);
    }
    Ok(found.into_iter().collect())
}

/// Everything that can be cut, by the names it is called by first.
fn all_names(scene: &LabTopology) -> Vec<String> {
    let cables = scene.cables.iter().map(|cable| cable.name.clone());
    let machines = scene.machines.iter().map(|machine| machine.name.clone());
    let plugs = scene.cables.iter().flat_map(|cable| &cable.ends).map(|plug| {
        let machine = &scene.machines[plug.machine];
        format!("{}:{}", machine.name, machine.ports[plug.port].name)
    });
    cables.chain(machines).chain(plugs).collect()
}

/// Whether a plug is known by this name: by the kernel's or the file's for its port.
fn has_name(scene: &LabTopology, plug: CableEnd, name: &str) -> bool {
    let machine = &scene.machines[plug.machine];
    let port = &machine.ports[plug.port];
    let rest = name.strip_prefix(machine.name.as_str()).and_then(|rest| rest.strip_prefix(':'));
    rest.is_some_and(|rest| rest == port.name || port.alias.as_deref() == Some(rest))
}

/// Cuts cables at these ends.
pub(crate) fn cut(lab: &Lab, ends: &[CableEndIndex], silent: bool) -> io::Result<()> {
    let how = if silent { "nomaster" } else { "down" };
    let lines: Vec<_> =
        ends.iter().map(|(cable, end)| format!("link set {} {how}", port(*cable, *end))).collect();
    run_ip_batch(lab.record.hub, &[], &lines)?;
    if silent { Ok(()) } else { set_carrier(lab, ends, false) }
}

/// Gives the ports of virtual machines their carrier, or takes it: they do not see what becomes of the ports in the hub.
fn set_carrier(lab: &Lab, ends: &[CableEndIndex], up: bool) -> io::Result<()> {
    let scene = lab.scene();
    let plugs = ends.iter().map(|(cable, end)| scene.cables[*cable].ends[*end]);
    let mut guests = plugs.filter(|plug| matches!(scene.machines[plug.machine].part, MachineRole::Guest(_)));
    guests.try_for_each(|plug| guest::set_carrier(lab, plug, up))
}

/// Plugs cables in again at these ends.
pub(crate) fn heal(lab: &Lab, ends: &[CableEndIndex]) -> io::Result<()> {
    let line = |(cable, end): &CableEndIndex| {
        format!("link set {} master {} up", port(*cable, *end), bridge(*cable))
    };
    run_ip_batch(lab.record.hub, &[], &ends.iter().map(line).collect::<Vec<_>>())?;
    set_carrier(lab, ends, true)
}

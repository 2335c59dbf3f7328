//! The switch namespace of a lab: a bridge per cable, with a port for each end.
//!
//! A cable is cut by setting its ports down, which both machines see as a lost carrier, or silently by removing the ports
//! from the bridge.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use ichor_core::lab::LabTopology;
use ichor_core::lab::topology::{CableEnd, LabCable, LabMachine, MachineRole};
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use ichor_values::nearest;

use super::{Lab, LabError, guest};

/// Time limit for the cables of a large lab with emulation.
const IP_TIMEOUT: Duration = Duration::from_mins(15);

/// Metric of DHCP routes in Talos.
const DHCP_METRIC: u32 = 1024;

/// First routing table of the ingress routers.
const INGRESS_TABLE: usize = 100;

/// A command that runs a program of this host in a network namespace; the caller appends the program.
pub(crate) fn enter_netns(pid: i32) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--target", &pid.to_string(), "--net", "--"]);
    command
}

/// Name of the switch port of a cable's end.
pub(crate) fn port(cable: usize, end: usize) -> String {
    format!("c{cable}e{end}")
}

/// Name of the bridge of a cable.
pub(crate) fn bridge(cable: usize) -> String {
    format!("cable{cable}")
}

/// Runs `ip -batch` with these lines in the network namespace of a process.
pub(crate) fn run_ip_batch(pid: i32, options: &[&str], lines: &[String]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut command = enter_netns(pid);
    command.arg("ip").args(options).args(["-batch", "-"]);
    let mut text = lines.join("\n");
    text.push('\n');
    let run = ProgramRun::new(command, IP_TIMEOUT).input(text).without_stdout();
    let Err(error) = run.run().and_then(ProgramOutput::require_success) else { return Ok(()) };
    let ProgramError::Failed(output) = error else { return Err(error.into()) };
    let message = output.stderr_text();
    let nth = message.rsplit(':').next().and_then(|number| number.trim().parse::<usize>().ok());
    let line = nth.and_then(|nth| lines.get(nth.checked_sub(1)?));
    let line = line.map_or_else(String::new, |line| format!(" at `ip {line}`"));
    Err(io::Error::other(format!("ip: {}{line}", message.lines().next().unwrap_or_default())))
}

/// Creates all cables, with the ends in the machines' namespaces; those of VMs stay in the switch namespace.
pub(crate) fn create_cables(
    topology: &LabTopology,
    switch_pid: i32,
    machines: &[i32],
    dummy: bool,
) -> io::Result<()> {
    let mut lines = Vec::new();
    for (nth, cable) in topology.cables.iter().enumerate() {
        let ports = cable.ends.iter().map(|end| &topology.machines[end.machine].ports[end.port]);
        let mtu = ports.clone().filter_map(|port| port.mtu).max();
        let long = mtu.map(|mtu| format!(" mtu {mtu}")).unwrap_or_default();
        lines.push(format!("link add {}{long} type bridge mcast_snooping 0", bridge(nth)));
        lines.push(format!("link set {} up", bridge(nth)));
        for ((at, end), far) in cable.ends.iter().enumerate().zip(ports) {
            let mac = far.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
            // An end without an own MTU uses the MTU of the cable.
            let own = far.mtu.or(mtu).map(|mtu| format!(" mtu {mtu}")).unwrap_or_default();
            let near = port(nth, at);
            if matches!(topology.machines[end.machine].part, MachineRole::Guest(_)) {
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
        for (nth, machine) in topology.machines.iter().enumerate() {
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
    run_ip_batch(switch_pid, &[], &lines)
}

/// Configures the links, addresses and routes of a machine; a VM is configured by Talos.
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
    lines.extend(
        machine.gateways.iter().map(|via| format!("route add default via {via} metric {DHCP_METRIC}")),
    );
    let mut rules = [Vec::new(), Vec::new()];
    if let MachineRole::Outside { doors } = &machine.part {
        for (nth, door) in doors.iter().enumerate() {
            let table = INGRESS_TABLE + nth;
            let through = door.through.iter().map(|via| format!("route add default via {via} table {table}"));
            lines.extend(through);
            // The default source enters through the first router.
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

/// An end of a cable: the index of the cable and of its end.
pub(crate) type CableEndIndex = (usize, usize);

/// All ends of all cables.
pub(crate) fn ends(topology: &LabTopology) -> Vec<CableEndIndex> {
    let of = |(nth, cable): (usize, &LabCable)| {
        (0..cable.ends.len()).map(move |end| (nth, end)).collect::<Vec<_>>()
    };
    topology.cables.iter().enumerate().flat_map(of).collect()
}

/// Finds cable ends by name: a cable by its name or by either end, or all cables of a machine. A name of one end includes
/// the other.
pub(crate) fn find_ends(lab: &Lab, names: &[String]) -> Result<Vec<CableEndIndex>, LabError> {
    let topology = lab.topology();
    let mut found = BTreeSet::new();
    for name in names {
        let mut ends = BTreeSet::new();
        for (nth, cable) in topology.cables.iter().enumerate() {
            let matches = |plug: &CableEnd| {
                has_name(topology, *plug, name) || topology.machines[plug.machine].name == *name
            };
            let all = cable.name == *name || (cable.ends.len() == 2 && cable.ends.iter().any(matches));
            let of = cable.ends.iter().enumerate().filter(|(_, plug)| all || matches(plug));
            ends.extend(of.map(|(end, _)| (nth, end)));
        }
        if ends.is_empty() {
            let near = nearest(name, all_names(topology).iter().map(String::as_str)).map(str::to_owned);
            return Err(LabError::Unknown { name: name.clone(), near });
        }
        // Several names may refer to the same cable.
        found.extend(ends);
    }
    Ok(found.into_iter().collect())
}

/// Names of everything that can be cut, preferred names first.
fn all_names(topology: &LabTopology) -> Vec<String> {
    let cables = topology.cables.iter().map(|cable| cable.name.clone());
    let machines = topology.machines.iter().map(|machine| machine.name.clone());
    let plugs = topology.cables.iter().flat_map(|cable| &cable.ends).map(|plug| {
        let machine = &topology.machines[plug.machine];
        format!("{}:{}", machine.name, machine.ports[plug.port].name)
    });
    cables.chain(machines).chain(plugs).collect()
}

/// Whether a cable end has this name: that of its port in the kernel or in the cluster file.
fn has_name(topology: &LabTopology, plug: CableEnd, name: &str) -> bool {
    let machine = &topology.machines[plug.machine];
    let port = &machine.ports[plug.port];
    let rest = name.strip_prefix(machine.name.as_str()).and_then(|rest| rest.strip_prefix(':'));
    rest.is_some_and(|rest| rest == port.name || port.alias.as_deref() == Some(rest))
}

/// Cuts cables at these ends.
pub(crate) fn cut(lab: &Lab, ends: &[CableEndIndex], silent: bool) -> io::Result<()> {
    let how = if silent { "nomaster" } else { "down" };
    let lines: Vec<_> =
        ends.iter().map(|(cable, end)| format!("link set {} {how}", port(*cable, *end))).collect();
    run_ip_batch(lab.record.switch_pid, &[], &lines)?;
    if silent { Ok(()) } else { set_carrier(lab, ends, false) }
}

/// Sets the carrier of VM ports, which do not follow the state of their switch ports.
fn set_carrier(lab: &Lab, ends: &[CableEndIndex], up: bool) -> io::Result<()> {
    let topology = lab.topology();
    let plugs = ends.iter().map(|(cable, end)| topology.cables[*cable].ends[*end]);
    let mut guests =
        plugs.filter(|plug| matches!(topology.machines[plug.machine].part, MachineRole::Guest(_)));
    guests.try_for_each(|plug| guest::set_carrier(lab, plug, up))
}

/// Heals cables at these ends.
pub(crate) fn heal(lab: &Lab, ends: &[CableEndIndex]) -> io::Result<()> {
    let line = |(cable, end): &CableEndIndex| {
        format!("link set {} master {} up", port(*cable, *end), bridge(*cable))
    };
    run_ip_batch(lab.record.switch_pid, &[], &ends.iter().map(line).collect::<Vec<_>>())?;
    set_carrier(lab, ends, true)
}

//! An independent view of the kernel: `ip`.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use ichor_agent::kernel::{ApplyOutcome, Kernel};
use ichor_bgp::agent::wiring::{ExtraAddresses, KernelState, NamespaceState, Step, Sysctls, VethLink, steps};
use ichor_bgp::agent::{Link, Wiring};
use ichor_bgp::model::RoutingDomain;
use ipnet::IpNet;

/// The output of `ip`, which must succeed.
pub fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    let output_text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "ip {arguments}: {output_text}");
    output_text
}

/// Many commands for `ip`.
pub fn ip_batch(commands: &str) {
    let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

pub fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// Whether packets reach an address and return: the port is closed, and the kernel replies so.
pub fn responds(address: &str) -> bool {
    let to = SocketAddr::new(address.parse().unwrap(), 9);
    let error = TcpStream::connect_timeout(&to, Duration::from_secs(10)).unwrap_err();
    error.kind() == ErrorKind::ConnectionRefused
}

/// A port, from the agent's view, with a peer at its other end.
pub fn cable(port: &str, other: &str) {
    ip(&format!("link add {port} type veth peer name {other}"));
    ip(&format!("link set {other} up"));
}

/// The wiring of a node whose load balancer is in `domain`.
pub fn wiring(domain: RoutingDomain) -> Wiring {
    let pair = VethLink {
        domain,
        ours: ("ours".to_owned(), net("fd00:1::/127")),
        theirs: ("theirs".to_owned(), net("fd00:1::1/127")),
        mtu: 4000,
    };
    let extra =
        ExtraAddresses { link: "lo".to_owned(), addresses: vec![net("10.0.0.1/32"), net("fd00::1/128")] };
    Wiring {
        pair: Some(pair),
        extra_addresses: vec![extra],
        ports: vec!["eth0".to_owned()],
        accept_advertisements: true,
    }
}

/// The missing steps, as a running agent determines them.
pub async fn missing(kernel: &Kernel, wiring: &Wiring) -> Vec<Step> {
    let links = kernel.links().await.unwrap();
    steps(wiring, &kernel.observe_beside(links, wiring).await.unwrap()).unwrap()
}

/// Applies the missing steps, and verifies that none is left.
pub async fn complete(kernel: &Kernel, wiring: &Wiring) {
    let steps = missing(kernel, wiring).await;
    assert_eq!(kernel.apply(&steps).await.unwrap(), ApplyOutcome::Done);
    assert_eq!(missing(kernel, wiring).await, []);
}

/// Removes everything.
pub async fn down(kernel: &Kernel, wiring: &Wiring) {
    kernel.down(wiring, &Sysctls::new()).await.unwrap().unwrap();
}

/// The state without values that differ in every run: indices, MAC addresses, and addresses derived from those.
pub async fn state(kernel: &Kernel, wiring: &Wiring) -> KernelState {
    let mut observed = kernel.observe(wiring).await.unwrap();
    let KernelState { links, inside, .. } = &mut observed;
    links.iter_mut().for_each(normalize);
    if let NamespaceState::There { links, .. } = inside {
        links.iter_mut().for_each(normalize);
    }
    observed.unreachable_defaults.sort();
    observed
}

fn normalize(link: &mut Link) {
    (link.index, link.mac, link.carrier) = (0, None, false);
    link.peer = link.peer.map(|_| 0);
    link.master = link.master.map(|_| 0);
    let is_stable = |net: &IpNet| !net.to_string().starts_with("fe80:");
    link.addresses.retain(is_stable);
    link.addresses.sort();
}

/// Stops after every number of steps and starts again: the final state is always the same. Then removes everything: the
/// initial state is always the same.
pub async fn assert_recovers_from_every_step(kernel: &Kernel, wiring: &Wiring) {
    ip("link set lo up");
    let before = state(kernel, wiring).await;
    let all_steps = missing(kernel, wiring).await;
    complete(kernel, wiring).await;
    let after = state(kernel, wiring).await;
    down(kernel, wiring).await;
    let removed = state(kernel, wiring).await;
    similar_asserts::assert_eq!(links(&removed), links(&before));

    for nth in 0..=all_steps.len() {
        let again = missing(kernel, wiring).await;
        // Sysctls keep their values.
        let rest: Vec<Step> =
            all_steps.iter().filter(|step| again.contains(step)).take(nth).cloned().collect();
        kernel.apply(&rest).await.unwrap();
        complete(kernel, wiring).await;
        similar_asserts::assert_eq!(state(kernel, wiring).await, after, "killed after step {nth}");

        down(kernel, wiring).await;
        down(kernel, wiring).await;
        similar_asserts::assert_eq!(state(kernel, wiring).await, removed, "killed after step {nth}, removed");
        kernel.apply(&rest).await.unwrap();
        down(kernel, wiring).await;
        similar_asserts::assert_eq!(state(kernel, wiring).await, removed, "removed after step {nth}");
    }
}

/// Links, with those of the namespace; a port that was set up stays up.
fn links(observed: &KernelState) -> (Vec<Link>, &NamespaceState) {
    let mut links = observed.links.clone();
    for link in &mut links {
        link.up = true;
    }
    (links, &observed.inside)
}

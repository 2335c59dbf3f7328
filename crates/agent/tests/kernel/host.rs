//! What a test is told and tells by another way than the agent's: `ip`.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use ichor_agent::kernel::{ApplyOutcome, Kernel};
use ichor_bgp::agent::wiring::{ExtraAddresses, KernelState, NamespaceState, Step, Sysctls, VethLink, steps};
use ichor_bgp::agent::{Link, Wiring};
use ichor_bgp::model::RoutingDomain;
use ipnet::IpNet;

/// What `ip` says; it must succeed.
pub fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "ip {arguments}: {said}");
    said
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

/// Whether packets get to an address and back: nobody listens there, and that is said.
pub fn answers(address: &str) -> bool {
    let to = SocketAddr::new(address.parse().unwrap(), 9);
    let error = TcpStream::connect_timeout(&to, Duration::from_secs(10)).unwrap_err();
    error.kind() == ErrorKind::ConnectionRefused
}

/// A port, as far as the agent can see, with something at its other end.
pub fn cable(port: &str, other: &str) {
    ip(&format!("link add {port} type veth peer name {other}"));
    ip(&format!("link set {other} up"));
}

/// The wiring of a node whose speaker is in `domain`.
pub fn wiring(domain: RoutingDomain) -> Wiring {
    let pair = VethLink {
        domain,
        ours: ("ours".to_owned(), net("fd00:1::/127")),
        theirs: ("theirs".to_owned(), net("fd00:1::1/127")),
        mtu: 4000,
    };
    let carried =
        ExtraAddresses { link: "lo".to_owned(), addresses: vec![net("10.0.0.1/32"), net("fd00::1/128")] };
    Wiring {
        pair: Some(pair),
        carried: vec![carried],
        ports: vec!["eth0".to_owned()],
        accept_advertisements: true,
    }
}

/// The steps that are still to be done, as an agent that runs looks for them.
pub async fn missing(kernel: &Kernel, wiring: &Wiring) -> Vec<Step> {
    let links = kernel.links().await.unwrap();
    steps(wiring, &kernel.observe_beside(links, wiring).await.unwrap()).unwrap()
}

/// Does what is to be done, and looks that nothing is left.
pub async fn complete(kernel: &Kernel, wiring: &Wiring) {
    let steps = missing(kernel, wiring).await;
    assert_eq!(kernel.apply(&steps).await.unwrap(), ApplyOutcome::Done);
    assert_eq!(missing(kernel, wiring).await, []);
}

/// Removes everything.
pub async fn down(kernel: &Kernel, wiring: &Wiring) {
    kernel.down(wiring, &Sysctls::new()).await.unwrap().unwrap();
}

/// What is there, without what is never the same: numbers, MAC addresses, and addresses made from those.
pub async fn state(kernel: &Kernel, wiring: &Wiring) -> KernelState {
    let mut observed = kernel.observe(wiring).await.unwrap();
    let KernelState { links, inside, .. } = &mut observed;
    links.iter_mut().for_each(plain);
    if let NamespaceState::There { links, .. } = inside {
        links.iter_mut().for_each(plain);
    }
    observed.fences.sort();
    observed
}

fn plain(link: &mut Link) {
    (link.index, link.mac, link.carrier) = (0, None, false);
    link.peer = link.peer.map(|_| 0);
    link.master = link.master.map(|_| 0);
    let is_stable = |net: &IpNet| !net.to_string().starts_with("fe80:");
    link.addresses.retain(is_stable);
    link.addresses.sort();
}

/// Stops after every number of steps and begins again: the end is always the same. Then removes everything: the start is
/// always the same.
pub async fn survives_being_killed_anywhere(kernel: &Kernel, wiring: &Wiring) {
    ip("link set lo up");
    let before = state(kernel, wiring).await;
    let whole = missing(kernel, wiring).await;
    complete(kernel, wiring).await;
    let after = state(kernel, wiring).await;
    down(kernel, wiring).await;
    let removed = state(kernel, wiring).await;
    similar_asserts::assert_eq!(links(&removed), links(&before));

    for nth in 0..=whole.len() {
        let again = missing(kernel, wiring).await;
        // Switches stay as they are turned.
        let rest: Vec<Step> = whole.iter().filter(|step| again.contains(step)).take(nth).cloned().collect();
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

/// Links, with those of the namespace; that a port was switched on stays.
fn links(observed: &KernelState) -> (Vec<Link>, &NamespaceState) {
    let mut links = observed.links.clone();
    for link in &mut links {
        link.up = true;
    }
    (links, &observed.inside)
}

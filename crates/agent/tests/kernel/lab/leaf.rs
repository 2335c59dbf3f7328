//! Leafs with FRR: the node discovers them, and they learn the node.

use std::env;
use std::time::{Duration, Instant};

use ichor_agent::kernel::Kernel;
use ichor_agent::kernel::advertisement::RaSocket;
use ichor_bgp::agent::advertisement::{NdpMessage, RouterTable};
use tokio::time::timeout;

use crate::kernel::isolation::block_on;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, wait_for};

const NODE: &str = "ICHOR_TEST_NODE";

/// The leaf advertises itself every ten minutes, or after a solicitation.
const LEAF: &str = "
interface leaf0
 no ipv6 nd suppress-ra
 ipv6 nd ra-interval 600
exit
router bgp 65000
 neighbor leaf0 interface remote-as external
exit
";

#[test]
fn a_leaf_answers_a_solicitation_and_learns_the_node_from_its_advertisement() {
    if env::var_os(NODE).is_some() {
        return block_on(node());
    }
    for release in Frr::ALL {
        let (leaf, node) = (release.machine(), LabMachine::new(RootFileSystem::Own));
        release.start(&leaf, None);
        node.cable("eth0", &leaf, "leaf0");
        let loaded = Frr::load(&leaf, LEAF);
        assert!(loaded.status.success(), "{loaded:?}");
        let name =
            "kernel::lab::leaf::a_leaf_answers_a_solicitation_and_learns_the_node_from_its_advertisement";

        let test = env::current_exe().unwrap();
        node.ask(&format!("{NODE}=yes {} --exact {name} --nocapture 2>&1", test.display()));

        let address = node.ask("ip -o -6 addr show dev eth0 scope link");
        let address = address.split_whitespace().nth(3).unwrap().trim_end_matches("/64");
        let known = || leaf.ask("vtysh -c 'show bgp neighbors leaf0'");
        wait_for("the node's address at the leaf", || known().contains(address), known);
    }
}

/// What the agent does on the node.
async fn node() {
    let links = Kernel::open().unwrap().links().await.unwrap();
    let eth0 = links.iter().find(|link| link.name == "eth0").unwrap();
    let port = RaSocket::open(eth0).unwrap();
    let mut routers = RouterTable::default();
    let start = Instant::now();

    // FRR may still be busy with its configuration: the solicitation is repeated, as the agent does.
    while routers.routers_on("eth0").is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "the leaf never answered");
        port.solicit().await.unwrap();
        if let Ok(received) = timeout(Duration::from_millis(500), port.receive()).await {
            let (address, message) = received.unwrap();
            let NdpMessage::Advertisement(advertisement) = message else { continue };
            routers.record("eth0", address, &advertisement, start.elapsed());
        }
    }
    let leaf = routers.routers_on("eth0")[0];
    assert!(leaf.mac.is_some(), "{leaf:?}");

    port.advertise().await.unwrap();
}

//! Configurations that change while sessions are up.

use std::time::Instant;

use super::{Node, routed};
use ichor_testbed::frr::Frr;

const PLAIN: Node = Node { bfd: false };

#[test]
fn a_reload_keeps_the_session_and_changes_what_differs() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, PLAIN);
        let before = pair.established();
        let more = PLAIN.conf().replace(
            "ip prefix-list OWN seq 5 permit 10.0.0.1/32",
            "ip prefix-list OWN seq 5 permit 10.0.0.1/32\nip prefix-list OWN seq 10 permit 10.0.0.2/32",
        );
        pair.node.ask("ip addr add 10.0.0.2/32 dev lo");

        let start = Instant::now();
        let reply = agent.reload(&pair.node, &more, &PLAIN.daemons(frr));
        eprintln!("{frr:?}: reloaded after {:?}", start.elapsed());

        assert_eq!(reply, "reloaded");
        let there = || !pair.leaf.run("ip route show 10.0.0.2").stdout.is_empty();
        ichor_testbed::lab::wait_for("the new address", there, || pair.log());
        assert_eq!(pair.established(), before);
        agent.stop("leaving");
    }
}

#[test]
fn a_rejected_reload_keeps_the_previous_configuration() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, PLAIN);
        let before = pair.established();
        let running = || pair.node.ask("vtysh -N node -c 'show running-config'");
        let run_before = running();
        // The first is rejected, and no running daemon accepts the lines of the second.
        let own_address = " neighbor 10.0.0.1 remote-as 65009\n coalesce-time";
        for wrong in [
            (" coalesce-time", own_address),
            ("ip protocol bgp", "router ospf\n ospf router-id 1.1.1.1\nexit\nip protocol bgp"),
        ] {
            let conf = PLAIN.conf().replace(wrong.0, wrong.1);

            let reply = agent.reload(&pair.node, &conf, &PLAIN.daemons(frr));

            assert!(
                reply.starts_with("error FRR refuses the configuration and keeps the previous one"),
                "{reply}"
            );
            eprintln!("{frr:?}: {reply}");
            assert!(
                reply.contains("neighbor 10.0.0.1 remote-as 65009") || reply.contains("router ospf"),
                "{reply}"
            );
        }
        assert_eq!(running(), run_before);
        assert_eq!(pair.established(), before);
        agent.stop("leaving");
    }
}

#[test]
fn a_daemon_is_started_and_stopped_with_the_configuration() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, PLAIN);
        let with = Node { bfd: true };
        let pid = |name: &str| pair.node.run(&format!("pidof {name}")).stdout;
        let bgpd = pid("bgpd");

        assert_eq!(agent.reload(&pair.node, &with.conf(), &with.daemons(frr)), "reloaded");
        assert!(!pid("bfdd").is_empty());
        assert_eq!(agent.reload(&pair.node, &PLAIN.conf(), &PLAIN.daemons(frr)), "reloaded");
        assert!(pid("bfdd").is_empty());

        assert_eq!(pid("bgpd"), bgpd);
        pair.wait_for_routes("after all");
        agent.stop("leaving");
    }
}

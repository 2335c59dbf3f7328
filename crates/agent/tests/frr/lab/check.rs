//! What FRR says before anything is changed.

use super::{Node, Pair};
use ichor_testbed::frr::Frr;

#[test]
fn every_complaint_is_told_before_anything_runs() {
    for frr in Frr::ALL {
        let node = Node { bfd: false };
        let pair = Pair::new(frr, node);
        let wrong = " neighbor 192.0.2.1 peer-group NOBODY\n neighbor 192.0.2.2 remote-as seven\n no such thing\n coalesce-time";
        let conf = node.conf().replace(" coalesce-time", wrong);

        let (_, said) = crate::frr::driver::Agent::start(&pair.node, &conf, &node.daemons(frr));

        assert!(said.starts_with("error FRR refuses frr.conf: "), "{said}");
        for part in ["seven", "no such thing", "peer-group"] {
            assert!(said.contains(part), "{frr:?} {part}: {said}");
        }
        assert!(pair.node.run("pidof zebra").stdout.is_empty());
    }
}

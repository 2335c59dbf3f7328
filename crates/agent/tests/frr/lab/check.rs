//! FRR's errors before anything is changed.

use super::{Node, Pair};
use ichor_testbed::frr::Frr;

#[test]
fn every_error_is_reported_before_anything_runs() {
    for frr in Frr::ALL {
        let node = Node { bfd: false };
        let pair = Pair::new(frr, node);
        let wrong = " neighbor 192.0.2.1 peer-group NOBODY\n neighbor 192.0.2.2 remote-as seven\n no such thing\n coalesce-time";
        let conf = node.conf().replace(" coalesce-time", wrong);

        let (_, reply) = crate::frr::driver::Agent::start(&pair.node, &conf, &node.daemons(frr));

        assert!(reply.starts_with("error FRR refuses frr.conf: "), "{reply}");
        for part in ["seven", "no such thing", "peer-group"] {
            assert!(reply.contains(part), "{frr:?} {part}: {reply}");
        }
        assert!(pair.node.run("pidof zebra").stdout.is_empty());
    }
}

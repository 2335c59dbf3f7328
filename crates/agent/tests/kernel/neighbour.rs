//! The neighbour that a daemon looks for.

use ichor_agent::kernel::Kernel;
use ichor_values::Mac;

use super::alone::alone;
use super::host::*;

#[test]
fn a_port_has_the_one_neighbour_that_was_heard() {
    alone(|| async {
        cable("eth0", "leaf");
        ip("link set eth0 up");
        ip("neigh add fe80::1 lladdr 02:00:00:00:00:09 dev eth0 nud stale");
        ip("neigh add fd00::1 lladdr 02:00:00:00:00:09 dev eth0 nud stale");
        let kernel = Kernel::open().unwrap();
        let index = kernel.links().await.unwrap().iter().find(|link| link.name == "eth0").unwrap().index;
        let (address, mac) = ("fe80::99".parse().unwrap(), Mac([2, 0, 0, 0, 0, 1]));

        assert!(kernel.only_neighbour(index, address, mac).await.unwrap());
        assert!(!kernel.only_neighbour(index, address, mac).await.unwrap());

        let said = ip("-6 neigh show dev eth0");
        assert!(said.contains("fe80::99 lladdr 02:00:00:00:00:01 router STALE"), "{said}");
        assert!(said.contains("fd00::1") && !said.contains("fe80::1 "), "{said}");
        let other = Mac([2, 0, 0, 0, 0, 2]);
        assert!(kernel.only_neighbour(index, address, other).await.unwrap());
        assert_eq!(kernel.neighbours(index).await.unwrap()[0].mac, Some(other));
    });
}

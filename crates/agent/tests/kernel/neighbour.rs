//! The neighbour entry that gobgpd looks up.

use ichor_agent::kernel::Kernel;
use ichor_values::Mac;

use super::host::*;
use super::isolation::isolated;

#[test]
fn a_port_has_the_discovered_router_as_its_only_neighbour() {
    isolated(|| async {
        cable("eth0", "leaf");
        ip("link set eth0 up");
        ip("neigh add fe80::1 lladdr 02:00:00:00:00:09 dev eth0 nud stale");
        ip("neigh add fd00::1 lladdr 02:00:00:00:00:09 dev eth0 nud stale");
        let kernel = Kernel::open().unwrap();
        let index = kernel.links().await.unwrap().iter().find(|link| link.name == "eth0").unwrap().index;
        let (address, mac) = ("fe80::99".parse().unwrap(), Mac([2, 0, 0, 0, 0, 1]));

        assert!(kernel.set_only_neighbour(index, address, mac).await.unwrap());
        assert!(!kernel.set_only_neighbour(index, address, mac).await.unwrap());

        let table = ip("-6 neigh show dev eth0");
        assert!(table.contains("fe80::99 lladdr 02:00:00:00:00:01 router STALE"), "{table}");
        assert!(table.contains("fd00::1") && !table.contains("fe80::1 "), "{table}");
        let other = Mac([2, 0, 0, 0, 0, 2]);
        assert!(kernel.set_only_neighbour(index, address, other).await.unwrap());
        assert_eq!(kernel.neighbours(index).await.unwrap()[0].mac, Some(other));
    });
}

//! Being told of changes.

use std::fmt::Write;
use std::time::Duration;

use ichor_agent::kernel::{KernelChange, NetlinkWatch};
use tokio::time::timeout;

use super::alone::alone;
use super::host::*;

/// Waits until a change is told; how often something was told until then.
async fn told(watch: &mut NetlinkWatch, wanted: KernelChange) -> usize {
    let wait = async {
        let mut times = 1;
        while !watch.next().await.unwrap().contains(&wanted) {
            times += 1;
        }
        times
    };
    timeout(Duration::from_secs(10), wait).await.unwrap_or_else(|_| panic!("{wanted:?} was not told"))
}

#[test]
fn every_kind_of_change_is_told() {
    alone(|| async {
        let mut watch = NetlinkWatch::open().unwrap();

        cable("eth0", "leaf");
        told(&mut watch, KernelChange::Links).await;
        ip("link set eth0 up");
        ip("addr add 10.1.0.1/24 dev eth0");
        ip("route add 192.0.2.0/24 via 10.1.0.2");
        told(&mut watch, KernelChange::Routes).await;
        ip("neigh add 10.1.0.2 lladdr 02:00:00:00:00:09 dev eth0");
        told(&mut watch, KernelChange::Neighbours).await;
    });
}

#[test]
fn what_was_too_much_at_once_is_everything() {
    alone(|| async {
        ip("link set lo up");
        let mut watch = NetlinkWatch::open().unwrap();
        let mut commands = String::new();
        for nth in 0..10_000u32 {
            writeln!(commands, "route add 10.{}.{}.0/24 dev lo", nth / 250, nth % 250).unwrap();
        }

        // Nobody listens in the meantime.
        ip_batch(&commands);

        // Of neighbours nothing was ever told; and thousands of routes are told as a few changes.
        assert!(told(&mut watch, KernelChange::Neighbours).await < 100);
        ip("route add 192.0.2.0/24 dev lo");
        told(&mut watch, KernelChange::Routes).await;
    });
}

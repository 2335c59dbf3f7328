//! Notifications of changes.

use std::fmt::Write;
use std::time::Duration;

use ichor_agent::kernel::{KernelChange, NetlinkWatch};
use tokio::time::timeout;

use super::host::*;
use super::isolation::isolated;

/// Waits for a change; returns the number of notifications until then.
async fn wait_for(watch: &mut NetlinkWatch, wanted: KernelChange) -> usize {
    let wait = async {
        let mut times = 1;
        while !watch.next().await.unwrap().contains(&wanted) {
            times += 1;
        }
        times
    };
    timeout(Duration::from_secs(10), wait).await.unwrap_or_else(|_| panic!("{wanted:?} was not reported"))
}

#[test]
fn every_kind_of_change_is_reported() {
    isolated(|| async {
        let mut watch = NetlinkWatch::open().unwrap();

        cable("eth0", "leaf");
        wait_for(&mut watch, KernelChange::Links).await;
        ip("link set eth0 up");
        ip("addr add 10.1.0.1/24 dev eth0");
        ip("route add 192.0.2.0/24 via 10.1.0.2");
        wait_for(&mut watch, KernelChange::Routes).await;
        ip("neigh add 10.1.0.2 lladdr 02:00:00:00:00:09 dev eth0");
        wait_for(&mut watch, KernelChange::Neighbours).await;
    });
}

#[test]
fn a_buffer_overrun_reports_every_kind_of_change() {
    isolated(|| async {
        ip("link set lo up");
        let mut watch = NetlinkWatch::open().unwrap();
        let mut commands = String::new();
        for nth in 0..10_000u32 {
            writeln!(commands, "route add 10.{}.{}.0/24 dev lo", nth / 250, nth % 250).unwrap();
        }

        // The socket is not read meanwhile.
        ip_batch(&commands);

        // No neighbour has changed, and thousands of routes are reported as a few changes.
        assert!(wait_for(&mut watch, KernelChange::Neighbours).await < 100);
        ip("route add 192.0.2.0/24 dev lo");
        wait_for(&mut watch, KernelChange::Routes).await;
    });
}

//! Leaving nodes, as reported by a simulator of machined.

use std::path::Path;
use std::time::{Duration, Instant};

use ichor_agent::machined::{LeaveReason, follow};
use tempfile::TempDir;
use tokio::sync::watch::{self, Receiver};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::status::simulator::{REBOOTING, RUNNING, SHUTTING_DOWN, START, STOP, Simulator, UPGRADING};

const LONG: Duration = Duration::from_secs(10);

struct Following {
    folder: TempDir,
    received: Receiver<Option<LeaveReason>>,
    task: JoinHandle<()>,
}

impl Following {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let socket = folder.path().join("machine.sock");
        let (sender, received) = watch::channel(None);
        let task = tokio::spawn(async move { follow(&socket, &sender).await });
        Self { folder, received, task }
    }

    fn simulator(&self) -> Simulator {
        Simulator::start(&Self::socket(self.folder.path()))
    }

    fn socket(folder: &Path) -> std::path::PathBuf {
        folder.join("machine.sock")
    }

    async fn wait_until_followed(&self, simulator: &Simulator) {
        let wait = async {
            while !simulator.is_followed() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, wait).await.expect("the agent follows");
        // Past events end with a pause.
        sleep(Duration::from_millis(200)).await;
    }

    async fn expect(&mut self, want: Option<LeaveReason>) {
        timeout(LONG, self.received.wait_for(|received| *received == want))
            .await
            .expect("reported in time")
            .unwrap();
    }

    /// Whether nothing is reported for a while.
    async fn is_quiet(&mut self) -> bool {
        timeout(Duration::from_millis(300), self.received.changed()).await.is_err()
    }
}

#[tokio::test]
async fn a_reboot_is_reported_within_milliseconds() {
    let mut following = Following::new();
    let simulator = following.simulator();
    simulator.sequence("boot", START);
    simulator.stage(RUNNING);
    following.wait_until_followed(&simulator).await;

    let start = Instant::now();
    simulator.stage(REBOOTING);
    following.expect(Some(LeaveReason::Reboots)).await;

    assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
    assert_eq!(simulator.refused(), 0);
}

#[tokio::test]
async fn the_start_of_a_sequence_is_reported_and_its_failure_clears_it() {
    let mut following = Following::new();
    let simulator = following.simulator();
    simulator.stage(RUNNING);
    following.wait_until_followed(&simulator).await;

    simulator.sequence("upgrade", START);
    following.expect(Some(LeaveReason::Upgraded)).await;

    simulator.stage(UPGRADING);
    simulator.sequence("upgrade", STOP);
    assert!(following.is_quiet().await, "the stage has the last word");

    simulator.stage(RUNNING);
    following.expect(None).await;
}

#[tokio::test]
async fn past_events_are_not_reported() {
    let mut following = Following::new();
    let simulator = following.simulator();
    for _ in 0..200 {
        simulator.sequence("shutdown", START);
        simulator.stage(SHUTTING_DOWN);
        simulator.other();
        simulator.sequence("shutdown", STOP);
        simulator.stage(RUNNING);
    }

    following.wait_until_followed(&simulator).await;

    assert!(following.is_quiet().await);
}

#[tokio::test]
async fn an_agent_that_starts_on_a_leaving_node_reports_it() {
    let folder = TempDir::new().unwrap();
    let socket = Following::socket(folder.path());
    let simulator = Simulator::start(&socket);
    simulator.stage(RUNNING);
    simulator.stage(UPGRADING);

    let (sender, received) = watch::channel(None);
    let task = tokio::spawn(async move { follow(&socket, &sender).await });
    let mut following = Following { folder, received, task };

    following.expect(Some(LeaveReason::Upgraded)).await;
}

#[tokio::test]
async fn machined_is_followed_when_it_starts_late_and_after_its_restart() {
    let mut following = Following::new();
    assert!(following.is_quiet().await);

    let first = following.simulator();
    first.stage(RUNNING);
    following.wait_until_followed(&first).await;
    first.stage(SHUTTING_DOWN);
    following.expect(Some(LeaveReason::ShutsDown)).await;
    drop(first);
    assert!(following.is_quiet().await, "machined ends before the node does");

    let second = following.simulator();
    second.stage(RUNNING);
    following.expect(None).await;
    second.stage(REBOOTING);
    following.expect(Some(LeaveReason::Reboots)).await;
}

#[tokio::test]
async fn following_ends_when_the_receiver_is_dropped() {
    let following = Following::new();
    let simulator = following.simulator();
    following.wait_until_followed(&simulator).await;

    drop(following.received);

    timeout(LONG, following.task).await.expect("it ends").unwrap();
}

//! Leaving, as machined's simulator tells it.

use std::path::Path;
use std::time::{Duration, Instant};

use ichor_agent::machined::{LeaveReason, follow};
use tempfile::TempDir;
use tokio::sync::watch::{self, Receiver};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::status::simulator::{REBOOTING, RUNNING, SHUTTING_DOWN, START, STOP, Simulator, UPGRADING};

const LONG: Duration = Duration::from_secs(10);

struct Scene {
    folder: TempDir,
    told: Receiver<Option<LeaveReason>>,
    following: JoinHandle<()>,
}

impl Scene {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let socket = folder.path().join("machine.sock");
        let (sender, told) = watch::channel(None);
        let following = tokio::spawn(async move { follow(&socket, &sender).await });
        Self { folder, told, following }
    }

    fn simulator(&self) -> Simulator {
        Simulator::start(&Self::socket(self.folder.path()))
    }

    fn socket(folder: &Path) -> std::path::PathBuf {
        folder.join("machine.sock")
    }

    async fn followed(&self, simulator: &Simulator) {
        let wait = async {
            while !simulator.is_followed() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, wait).await.expect("the agent follows");
        // What is past is past.
        sleep(Duration::from_millis(200)).await;
    }

    async fn hear(&mut self, want: Option<LeaveReason>) {
        timeout(LONG, self.told.wait_for(|told| *told == want)).await.expect("told in time").unwrap();
    }

    /// Whether nothing is told for a while.
    async fn is_quiet(&mut self) -> bool {
        timeout(Duration::from_millis(300), self.told.changed()).await.is_err()
    }
}

#[tokio::test]
async fn a_reboot_is_heard_in_milliseconds() {
    let mut scene = Scene::new();
    let simulator = scene.simulator();
    simulator.sequence("boot", START);
    simulator.stage(RUNNING);
    scene.followed(&simulator).await;

    let start = Instant::now();
    simulator.stage(REBOOTING);
    scene.hear(Some(LeaveReason::Reboots)).await;

    assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
    assert_eq!(simulator.refused(), 0);
}

#[tokio::test]
async fn the_start_of_a_sequence_is_enough_and_one_that_fails_is_taken_back() {
    let mut scene = Scene::new();
    let simulator = scene.simulator();
    simulator.stage(RUNNING);
    scene.followed(&simulator).await;

    simulator.sequence("upgrade", START);
    scene.hear(Some(LeaveReason::Upgraded)).await;

    simulator.stage(UPGRADING);
    simulator.sequence("upgrade", STOP);
    assert!(scene.is_quiet().await, "the stage has the last word");

    simulator.stage(RUNNING);
    scene.hear(None).await;
}

#[tokio::test]
async fn what_is_past_is_not_taken_for_new() {
    let mut scene = Scene::new();
    let simulator = scene.simulator();
    for _ in 0..200 {
        simulator.sequence("shutdown", START);
        simulator.stage(SHUTTING_DOWN);
        simulator.other();
        simulator.sequence("shutdown", STOP);
        simulator.stage(RUNNING);
    }

    scene.followed(&simulator).await;

    assert!(scene.is_quiet().await);
}

#[tokio::test]
async fn an_agent_that_starts_while_the_node_leaves_knows() {
    let folder = TempDir::new().unwrap();
    let socket = Scene::socket(folder.path());
    let simulator = Simulator::start(&socket);
    simulator.stage(RUNNING);
    simulator.stage(UPGRADING);

    let (sender, told) = watch::channel(None);
    let following = tokio::spawn(async move { follow(&socket, &sender).await });
    let mut scene = Scene { folder, told, following };

    scene.hear(Some(LeaveReason::Upgraded)).await;
}

#[tokio::test]
async fn machined_is_found_when_it_comes_late_and_again_after_it_was_gone() {
    let mut scene = Scene::new();
    assert!(scene.is_quiet().await);

    let first = scene.simulator();
    first.stage(RUNNING);
    scene.followed(&first).await;
    first.stage(SHUTTING_DOWN);
    scene.hear(Some(LeaveReason::ShutsDown)).await;
    drop(first);
    assert!(scene.is_quiet().await, "machined ends before the node does");

    let second = scene.simulator();
    second.stage(RUNNING);
    scene.hear(None).await;
    second.stage(REBOOTING);
    scene.hear(Some(LeaveReason::Reboots)).await;
}

#[tokio::test]
async fn it_ends_when_nobody_listens() {
    let scene = Scene::new();
    let simulator = scene.simulator();
    scene.followed(&simulator).await;

    drop(scene.told);

    timeout(LONG, scene.following).await.expect("it ends").unwrap();
}

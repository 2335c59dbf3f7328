//! Simulated nodes in a temporary folder, stopped on drop.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ichor_simulator::fleet::scenario::{Scenario, ScenarioNode};
use ichor_talos::api::machine::{
    ApplyConfigurationRequest, ApplyConfigurationResponse, ApplyMode, PlainResponse,
};
use ichor_talos::api::{Empty, cosi, method};
use ichor_talos::secrets::{Bundle, Pair, Pem, client_certificate, read_admin};
use serde_json::Value;
use tempfile::TempDir;
use tonic::{Code, Status};

use super::client::{Client, Key};
use crate::common::{Run, ichor};

/// Time limit of all waits.
const PATIENCE: Duration = Duration::from_secs(40);
/// Short delays for fast tests.
const QUICK: &str = "--install 20ms --boot 20ms --start 10ms";

/// Running simulated nodes.
pub struct Simulator {
    folder: TempDir,
    /// Number of their network.
    pub id: u8,
    /// Names of the nodes.
    pub places: Vec<ScenarioNode>,
    /// Secrets of their cluster.
    pub bundle: Bundle,
}

impl Simulator {
    /// Starts nodes in the background, with additional arguments.
    pub fn start(nodes: u32, words: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let run = ichor(folder.path(), &format!("lab nodes {nodes} -o lab {QUICK} --detach {words}"));
        assert_eq!(run.code, 0, "{}", run.all());
        let file = fs::read_to_string(folder.path().join("lab/ichor.yaml")).unwrap();
        let id = file.split("id: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap().parse().unwrap();
        let bundle =
            Bundle::read(&fs::read_to_string(folder.path().join("lab/secrets.yaml")).unwrap()).unwrap();
        let talos = ichor_values::TalosVersion::parse("v1.13.9").unwrap();
        let places = Scenario { name: String::new(), id, nodes, talos }.places().collect();
        Self { folder, id, places, bundle }
    }

    /// The folder of the cluster.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("lab")
    }

    /// Sends a control command to the nodes.
    pub fn control(&self, words: &str) -> Run {
        ichor(&self.folder(), &format!("lab nodes {words}"))
    }

    /// Status of the nodes.
    pub fn status(&self) -> Value {
        self.control("status --json").json()
    }

    /// Lines of the journal.
    pub fn journal(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder().join("simulator/journal.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Stages that a node has reached.
    pub fn stages(&self, node: &str) -> Vec<String> {
        let own = self.journal().into_iter().filter(|line| line["node"] == node);
        own.filter_map(|line| line["stage"].as_str().map(str::to_owned)).collect()
    }

    /// Address of a node before it is configured.
    pub fn leased(&self, nth: usize) -> IpAddr {
        self.places[nth].leased.into()
    }

    /// Address of a node after it is configured.
    pub fn fixed(&self, nth: usize) -> IpAddr {
        let [_, _, high, low] = self.places[nth].index.to_be_bytes();
        IpAddr::from([127, self.id, high, low])
    }

    /// Address of the Kubernetes API.
    pub fn vip(&self) -> IpAddr {
        IpAddr::from([127, self.id, 127, 1])
    }

    /// Credentials of the administrator.
    pub fn admin(&self) -> Key {
        let text = fs::read_to_string(self.folder().join("admin.yaml")).unwrap();
        Self::key(&self.bundle.os.crt, read_admin(&text).unwrap())
    }

    /// Credentials with a role.
    pub fn with_role(&self, role: &str) -> Key {
        let now = ichor_values::Moment::parse("2026-01-01T00:00:00Z").unwrap();
        let life = Duration::from_hours(24 * 3650);
        let pair = client_certificate(&self.bundle.os, &[role], &mut rand_core::OsRng, now, life).unwrap();
        Self::key(&self.bundle.os.crt, pair)
    }

    /// Credentials of another cluster's administrator, who trusts our CA.
    pub fn known_by(&self, other: &Self) -> Key {
        let Key::Certificate(certificate) = other.admin() else { unreachable!("it has a certificate") };
        Self::key(&self.bundle.os.crt, certificate.1.clone())
    }

    fn key(authority: &Pem, pair: Pair) -> Key {
        Key::Certificate(Arc::new((authority.clone(), pair)))
    }

    /// Runs `ichor build` for the configurations of all nodes.
    pub fn build(&self) {
        let run = ichor(&self.folder(), "build");
        assert_eq!(run.code, 0, "{}", run.all());
    }

    /// Configuration of a node.
    pub fn config(&self, nth: usize) -> Vec<u8> {
        let path = Path::new("build/simulated/nodes").join(&self.places[nth].name).join("machine.yaml");
        fs::read(self.folder().join(path)).unwrap()
    }

    /// Connects as soon as a server answers.
    pub async fn reach(&self, address: IpAddr, key: &Key) -> Client {
        let until = Instant::now() + PATIENCE;
        loop {
            match Client::connect(address, key).await {
                Ok(client) => return client,
                Err(error) => assert!(Instant::now() < until, "{address}: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Connects as the administrator until a server answers whose certificate is rejected with this error.
    pub async fn expect_rejection(&self, address: IpAddr, words: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let error = Client::connect(address, &self.admin()).await.err().expect("it is refused");
            if error.contains(words) {
                return;
            }
            assert!(Instant::now() < until, "{address}: {error}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Applies its configuration to a node.
    pub async fn apply(&self, nth: usize) {
        let answer = self.try_apply(nth, self.config(nth), false).await.unwrap();
        assert_eq!(answer.messages[0].mode, ApplyMode::NoReboot as i32);
    }

    /// Applies a configuration to a node in maintenance mode, and returns the response.
    pub async fn try_apply(
        &self,
        nth: usize,
        data: Vec<u8>,
        dry_run: bool,
    ) -> Result<ApplyConfigurationResponse, Status> {
        let request = ApplyConfigurationRequest { data, mode: ApplyMode::Auto as i32, dry_run };
        self.reach(self.leased(nth), &Key::None).await.call(method::APPLY_CONFIGURATION, request).await
    }

    /// Bootstraps etcd as soon as the node accepts it.
    pub async fn bootstrap(&self, nth: usize) {
        let mut client = self.reach(self.fixed(nth), &self.admin()).await;
        let until = Instant::now() + PATIENCE;
        loop {
            match client.call::<_, PlainResponse>(method::BOOTSTRAP, Empty {}).await {
                Ok(_) => return,
                Err(status) => {
                    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
                    assert_eq!(status.message(), "bootstrap is not available yet");
                }
            }
            assert!(Instant::now() < until);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Brings all machines up to a running cluster.
    pub async fn bring_up(&self) {
        self.build();
        for nth in 0..self.places.len() {
            self.apply(nth).await;
        }
        self.bootstrap(0).await;
        self.wait_for(|status| {
            status["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .all(|node| node["stage"] == "running" && node["ready"] == true)
        })
        .await;
    }

    /// Waits until a condition holds.
    pub async fn wait_for(&self, so: impl Fn(&Value) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            let status = self.status();
            if so(&status) {
                return;
            }
            assert!(Instant::now() < until, "{status:#}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// YAML of a resource.
    pub async fn resource(&self, client: &mut Client, namespace: &str, kind: &str, id: &str) -> String {
        let request =
            cosi::GetRequest { namespace: namespace.to_owned(), r#type: kind.to_owned(), id: id.to_owned() };
        let answer: cosi::GetResponse = client.call(method::STATE_GET, request).await.unwrap();
        answer.resource.unwrap().spec.unwrap().yaml_spec
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let run = self.control("stop");
        if !std::thread::panicking() {
            assert_eq!(run.code, 0, "{}", run.all());
        }
    }
}

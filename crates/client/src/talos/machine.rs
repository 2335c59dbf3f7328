//! Calls about the machine itself.

use std::time::Duration;

use ichor_talos::api::cluster::{ClusterInfo, HealthCheckProgress, HealthCheckRequest};
use ichor_talos::api::common;
use ichor_talos::api::common::{Data, Driver};
use ichor_talos::api::machine::{
    ActionResponse, ApplyConfiguration, ApplyConfigurationRequest, ApplyConfigurationResponse, ApplyMode,
    DmesgRequest, LogsRequest, PlainResponse, ReadRequest, RebootMode, RebootRequest, ResetRequest,
    ServiceInfo, ServiceListResponse, Version, VersionResponse,
};
use ichor_talos::api::{Empty, method};
use ichor_talos::kubeconfig;

use super::NodeClient;
use super::call::{NodeCall, ResponseStream};
use super::error::{NodeError, NodeErrorKind};

/// The namespace of the logs of Talos' own services.
const SYSTEM: &str = "system";

const VERSION: NodeCall = NodeCall::quick("version", method::VERSION);
const APPLY: NodeCall =
    NodeCall::slow("apply configuration", method::APPLY_CONFIGURATION, Duration::from_mins(1));
const BOOTSTRAP: NodeCall = NodeCall::slow("bootstrap", method::BOOTSTRAP, Duration::from_mins(1));
const KUBECONFIG: NodeCall = NodeCall::quick("kubeconfig", method::KUBECONFIG);
const SERVICES: NodeCall = NodeCall::quick("services", method::SERVICE_LIST);
const LOGS: NodeCall = NodeCall::quick("logs", method::LOGS);
const DMESG: NodeCall = NodeCall::quick("dmesg", method::DMESG);
const READ: NodeCall = NodeCall::quick("read", method::READ);
const REBOOT: NodeCall = NodeCall::quick("reboot", method::REBOOT);
const RESET: NodeCall = NodeCall::quick("reset", method::RESET);

/// The part of a log to read.
#[derive(Clone, Copy, Debug)]
pub struct LogTail {
    /// Only so many of the last lines.
    pub lines: Option<u32>,
    /// Whether to wait for more.
    pub follow: bool,
}

impl NodeClient {
    /// Which release runs. In maintenance mode Talos knows the call from 1.13 on.
    pub async fn version(&self) -> Result<Version, NodeError> {
        let answer: VersionResponse = self.ask(VERSION, Empty {}).await?;
        self.first_message(VERSION, answer.messages)
    }

    /// Applies a configuration; with `dry_run` the node only reports the changes.
    pub async fn apply(
        &self,
        configuration: Vec<u8>,
        dry_run: bool,
    ) -> Result<ApplyConfiguration, NodeError> {
        let request =
            ApplyConfigurationRequest { data: configuration, mode: ApplyMode::Auto.into(), dry_run };
        let answer: ApplyConfigurationResponse = self.ask(APPLY, request).await?;
        self.first_message(APPLY, answer.messages)
    }

    /// Makes etcd's first member; once in the life of a cluster.
    pub async fn bootstrap(&self) -> Result<(), NodeError> {
        let answer: PlainResponse = self.ask(BOOTSTRAP, Empty {}).await?;
        self.first_message(BOOTSTRAP, answer.messages).map(drop)
    }

    /// An administrator's kubeconfig; a secret.
    pub async fn kubeconfig(&self) -> Result<String, NodeError> {
        let archive = self.stream(KUBECONFIG, Empty {}, false).bytes().await?;
        kubeconfig::unpack(&archive).map_err(|error| {
            NodeError::new(self.about(KUBECONFIG.name), NodeErrorKind::Refused, error.to_string())
        })
    }

    /// The services of Talos, with their state and health.
    pub async fn services(&self) -> Result<Vec<ServiceInfo>, NodeError> {
        let answer: ServiceListResponse = self.ask(SERVICES, Empty {}).await?;
        self.first_message(SERVICES, answer.messages).map(|list| list.services)
    }

    /// The logs of a Talos service.
    pub fn logs(&self, service: &str, tail: LogTail) -> ResponseStream<Data> {
        let request = LogsRequest {
            namespace: SYSTEM.to_owned(),
            id: service.to_owned(),
            driver: Driver::Containerd.into(),
            follow: tail.follow,
            tail_lines: tail.lines.map_or(-1, |lines| i32::try_from(lines).unwrap_or(i32::MAX)),
        };
        self.stream(LOGS, request, tail.follow)
    }

    /// The messages of the kernel and of Talos itself; with `new` only those written from now on.
    pub fn dmesg(&self, follow: bool, new: bool) -> ResponseStream<Data> {
        self.stream(DMESG, DmesgRequest { follow, tail: new }, follow)
    }

    /// A file of the node.
    pub async fn read(&self, path: &str) -> Result<Vec<u8>, NodeError> {
        self.stream(READ, ReadRequest { path: path.to_owned() }, false).bytes().await
    }

    /// Reboots the node.
    pub async fn reboot(&self, mode: RebootMode) -> Result<(), NodeError> {
        let answer: ActionResponse = self.ask(REBOOT, RebootRequest { mode: mode.into() }).await?;
        self.first_message(REBOOT, answer.messages).map(drop)
    }

    /// Wipes the node's state.
    pub async fn reset(&self, request: ResetRequest) -> Result<(), NodeError> {
        let answer: ActionResponse = self.ask(RESET, request).await?;
        self.first_message(RESET, answer.messages).map(drop)
    }

    /// Has a control plane check the health of the cluster, in Talos' own order; it reports pending checks, and ends when all
    /// pass or `wait` is over.
    pub fn health(&self, nodes: ClusterInfo, wait: Duration) -> ResponseStream<HealthCheckProgress> {
        let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
        let wait_timeout = common::Duration { seconds, nanos: wait.subsec_nanos().cast_signed() };
        let request = HealthCheckRequest { wait_timeout: Some(wait_timeout), cluster_info: Some(nodes) };
        // It sends no messages while nothing changes.
        let patience = wait.saturating_add(Duration::from_secs(10));
        self.stream(NodeCall::slow("health", method::HEALTH_CHECK, patience), request, false)
    }

    /// The response of this node: the first one, as calls are not forwarded to other nodes.
    pub(super) fn first_message<M>(&self, call: NodeCall, messages: Vec<M>) -> Result<M, NodeError> {
        messages
            .into_iter()
            .next()
            .ok_or_else(|| NodeError::new(self.about(call.name), NodeErrorKind::Refused, "empty response"))
    }
}

impl ResponseStream<Data> {
    /// Collects the complete stream.
    pub async fn bytes(mut self) -> Result<Vec<u8>, NodeError> {
        let mut all = Vec::new();
        while let Some(data) = self.next().await? {
            all.extend(data.bytes);
        }
        Ok(all)
    }
}

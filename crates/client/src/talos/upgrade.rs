//! Calls that change the release, both ways.

use std::time::Duration;

use ichor_talos::api::common::{Containerd, Driver, Namespace};
use ichor_talos::api::image::{PullRequest, PullResponse};
use ichor_talos::api::machine::{UpgradeRequest, UpgradeResponse};
use ichor_talos::api::{lifecycle, method};

use super::NodeClient;
use super::call::{NodeCall, ResponseStream};
use super::error::NodeError;

/// The image is fetched before there is an answer.
const UPGRADE: NodeCall = NodeCall::slow("upgrade", method::UPGRADE, Duration::from_mins(15));
const PULL: NodeCall = NodeCall::slow("pull image", method::IMAGE_PULL, Duration::from_mins(5));
const INSTALL: NodeCall = NodeCall::slow("upgrade", method::LIFECYCLE_UPGRADE, Duration::from_mins(5));

/// The image store of installers: as in talosctl, and it survives a restart.
const STORE: Containerd = Containerd { driver: Driver::Cri as i32, namespace: Namespace::System as i32 };

impl NodeClient {
    /// The call before Talos 1.13: it installs, drains and reboots.
    pub async fn upgrade(&self, request: UpgradeRequest) -> Result<(), NodeError> {
        let answer: UpgradeResponse = self.ask(UPGRADE, request).await?;
        self.first_message(UPGRADE, answer.messages).map(drop)
    }

    /// Fetches an image; from Talos 1.13 on.
    pub fn pull(&self, image: &str) -> ResponseStream<PullResponse> {
        self.stream(PULL, PullRequest { containerd: Some(STORE), image_ref: image.to_owned() }, false)
    }

    /// Installs a pulled image; from Talos 1.13 on. It neither drains nor reboots. The exit code of the installer
    /// reports its failure, which is not an error of the call.
    pub fn install(&self, image: &str) -> ResponseStream<lifecycle::LifecycleUpgradeResponse> {
        let source = lifecycle::Source { image_name: image.to_owned() };
        let request = lifecycle::LifecycleUpgradeRequest { containerd: Some(STORE), source: Some(source) };
        self.stream(INSTALL, request, false)
    }
}

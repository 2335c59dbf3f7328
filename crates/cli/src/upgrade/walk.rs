//! From node to node, until one is not well.

use ichor_core::cluster::section::Role;
use ichor_core::upgrade::{Plan, Step, Way, absence, judge};
use ichor_talos::api::lifecycle::Said;
use ichor_talos::api::machine::{RebootMode, UpgradeRequest};
use serde_json::json;
use tokio::time::{self, Instant};

use super::Order;
use crate::crew::{Crew, CrewError, Drained, boot_id};
use crate::up::{State, Teller};
use ichor_client::talos::{Kind, Node, NodeError};

/// How long between two looks at etcd.
const AGAIN: std::time::Duration = std::time::Duration::from_millis(500);

/// Where and why it stopped.
pub(crate) struct Stopped {
    pub node: String,
    pub step: &'static str,
    pub why: String,
    /// Nodes that were to follow.
    pub left: Vec<String>,
}

/// Goes through a plan; how many nodes were upgraded, or where it stopped.
pub(crate) async fn walk(
    crew: &Crew<'_>,
    plan: &Plan,
    order: &Order<'_>,
    teller: &Teller,
) -> Result<usize, Stopped> {
    let stop = |node: &str, (step, why): (&'static str, String), left: &[Step]| Stopped {
        node: node.to_owned(),
        step,
        why,
        left: left.iter().map(|step| step.node.clone()).collect(),
    };
    for node in &plan.uncordon {
        let walker = Walker { crew, order, teller, node };
        let freed = walker.step("uncordon", crew.kubernetes.uncordon(node)).await;
        freed.map_err(|why| stop(node, why, &plan.steps))?;
    }
    for (nth, step) in plan.steps.iter().enumerate() {
        let walker = Walker { crew, order, teller, node: &step.node };
        walker.upgrade(step).await.map_err(|why| stop(&step.node, why, &plan.steps[nth + 1..]))?;
    }
    Ok(plan.steps.len())
}

/// What is done with one node.
struct Walker<'w> {
    crew: &'w Crew<'w>,
    order: &'w Order<'w>,
    teller: &'w Teller,
    node: &'w str,
}

/// Why a step of an upgrade was not done.
#[derive(Debug, thiserror::Error)]
enum UpgradeError {
    #[error(transparent)]
    Crew(#[from] CrewError),
    #[error(transparent)]
    Node(#[from] NodeError),
    /// What is wrong with etcd, or with what the node runs.
    #[error("{0}")]
    Unsound(String),
    #[error("{0} was fetched, and the node does not say where it is")]
    Nameless(String),
    #[error("the installer ended with {code}: {last}")]
    Installer { code: i32, last: String },
    #[error("the installer was broken off")]
    BrokenOff,
}

type Walked<T> = Result<T, (&'static str, String)>;

impl Walker<'_> {
    async fn upgrade(&self, step: &Step) -> Walked<()> {
        self.step("check", self.may_go(step)).await?;
        let (node, before) = self.step("connect", self.known()).await?;
        let drained = match step.way {
            Way::Whole => {
                self.step("upgrade", self.whole(&node, step)).await?;
                Drained::Before
            }
            Way::Parts => self.parts(&node, step).await?,
        };
        let hear = |said: &str| self.hear(said);
        let back = async {
            let release = self.crew.back(self.node, &before, self.order.timeout, &hear).await?;
            let has = self.crew.extensions(self.node).await;
            judge(step, &release, has.as_deref()).map_err(|error| UpgradeError::Unsound(error.to_string()))
        };
        self.step("come back", back).await?;
        if drained == Drained::Cordoned {
            self.step("uncordon", self.crew.kubernetes.uncordon(self.node)).await?;
        }
        self.step("health", self.is_well(step)).await
    }

    /// A connection to the node, and by what this start of it is known.
    async fn known(&self) -> Result<(Node, String), UpgradeError> {
        let node = self.crew.connect(self.node).await?;
        let before = boot_id(&node).await?;
        Ok((node, before))
    }

    /// Whether the cluster can do without the node now; all was well when the one before was done.
    async fn may_go(&self, step: &Step) -> Result<(), UpgradeError> {
        if step.role == Role::Controlplane {
            let etcd = self.crew.etcd().await?;
            let problems = etcd.problems();
            if !problems.is_empty() {
                return Err(UpgradeError::Unsound(problems.join("; ")));
            }
            absence(Some(&etcd), self.node, step.role, self.order.outage)
                .map_err(|obstacle| UpgradeError::Unsound(obstacle.message))?;
        }
        Ok(self.crew.health(self.order.timeout, &|said| self.hear(said)).await?)
    }

    /// Until Talos 1.12 one call does it all.
    async fn whole(&self, node: &Node, step: &Step) -> Result<(), NodeError> {
        // Without `preserve` a control plane looks after etcd itself, too; data has been kept in any case since 1.8.
        let request = UpgradeRequest { image: step.image.clone() };
        match node.upgrade(request).await {
            // It may be gone before its answer is here; whether it did what it should is seen when it is back.
            Err(error) if error.kind() == Kind::Lost => Ok(()),
            done => done,
        }
    }

    async fn parts(&self, node: &Node, step: &Step) -> Walked<Drained> {
        let image = self.step("pull", self.pull(node, &step.image)).await?;
        self.step("install", self.install(node, &image)).await?;
        let reason = format!("upgrade to {}", step.to);
        let hear = |said: &str| self.hear(said);
        let drain = self.crew.drain(self.node, &reason, self.order.drain_timeout, &hear);
        let drained = self.step("drain", drain).await?;
        if step.role == Role::Controlplane {
            // Nothing is lost where it does not lead, or where nobody else can: then they elect.
            if let Ok(leader) = node.etcd_forfeit().await
                && !leader.is_empty()
            {
                self.hear("etcd is led by another member now");
            }
        }
        self.step("reboot", self.reboot(node)).await?;
        Ok(drained)
    }

    async fn pull(&self, node: &Node, image: &str) -> Result<String, UpgradeError> {
        let mut stream = node.pull(image);
        let mut name = None;
        while let Some(message) = stream.next().await? {
            if let Some(pulled) = message.name {
                name = Some(pulled);
            }
        }
        name.ok_or_else(|| UpgradeError::Nameless(image.to_owned()))
    }

    async fn install(&self, node: &Node, image: &str) -> Result<(), UpgradeError> {
        let mut stream = node.install(image);
        let (mut code, mut last) = (None, String::new());
        while let Some(message) = stream.next().await? {
            match message.progress.and_then(|progress| progress.response) {
                Some(Said::Message(line)) => {
                    self.hear(line.trim_end());
                    line.trim_end().clone_into(&mut last);
                }
                Some(Said::ExitCode(ended)) => code = Some(ended),
                None => {}
            }
        }
        match code {
            Some(0) => Ok(()),
            Some(code) => Err(UpgradeError::Installer { code, last }),
            None => Err(UpgradeError::BrokenOff),
        }
    }

    async fn reboot(&self, node: &Node) -> Result<(), NodeError> {
        match node.reboot(RebootMode::Default).await {
            Err(error) if error.kind() == Kind::Lost => Ok(()),
            done => done,
        }
    }

    /// Waits until etcd has all its members back and every check of Talos is good.
    async fn is_well(&self, step: &Step) -> Result<(), UpgradeError> {
        let end = Instant::now() + self.order.timeout;
        loop {
            if step.role != Role::Controlplane {
                break;
            }
            let problems = match self.crew.etcd().await {
                Ok(etcd) => etcd.problems(),
                Err(error) => vec![error.to_string()],
            };
            if problems.is_empty() {
                break;
            }
            if Instant::now() + AGAIN >= end {
                return Err(UpgradeError::Unsound(problems.join("; ")));
            }
            time::sleep(AGAIN).await;
        }
        let rest = end.saturating_duration_since(Instant::now());
        Ok(self.crew.health(rest, &|said| self.hear(said)).await?)
    }

    async fn step<T, E: ToString>(
        &self,
        step: &'static str,
        act: impl Future<Output = Result<T, E>>,
    ) -> Walked<T> {
        self.teller.step(Some(self.node), step, State::Begun, None, "");
        match act.await {
            Ok(done) => {
                self.teller.step(Some(self.node), step, State::Done, None, "");
                Ok(done)
            }
            Err(error) => {
                let why = error.to_string();
                self.teller.step(Some(self.node), step, State::Failed, None, &why);
                Err((step, why))
            }
        }
    }

    fn hear(&self, said: &str) {
        let line = format!("{}: {said}", self.node);
        self.teller.event("message", json!({"node": self.node, "said": said}), Some(line));
    }
}

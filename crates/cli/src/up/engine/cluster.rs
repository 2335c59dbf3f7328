//! Steps of the cluster as a whole: begun, and what came of them.

use std::path::PathBuf;
use std::sync::Arc;

use ichor_core::bringup::{Blocker, ClusterStep, Contact, Look};
use ichor_core::cluster::section::Role;
use ichor_talos::api::cluster::ClusterInfo;
use tokio::time;

use super::tries::Tries;
use super::{Engine, Told};
use crate::up::act::{self, Ended};
use crate::up::endpoint::reach;
use crate::up::kubeconfig;
use crate::up::look::Subject;
use crate::up::place::PlaceError;
use crate::up::tell::State;
use crate::up::words::cluster_word;

impl Engine {
    /// Begins a step of the cluster.
    pub(super) fn begin_cluster(&mut self, step: ClusterStep) {
        self.seen.cluster.busy = true;
        let on = step.node();
        let at = on.and_then(|nth| self.seen.nodes[nth].at);
        if self.tries.count == 0 {
            let name = on.map(|nth| self.wanted.nodes[nth].name.as_str());
            self.teller.step(name, cluster_word(step), State::Begun, at, "");
        }
        let pause = self.tries.pause();
        let tell = self.tell.clone();
        let said = self.tell.clone();
        let say = move |text: String| drop(said.send(Told::Said(None, text)));
        let (patience, info) = (self.tools.node_timeout, self.cluster_info());
        let (endpoint, target) = (self.tools.endpoint.clone(), self.tools.kubeconfig.clone());
        let subject = on.map(|nth| Arc::clone(&self.tools.subjects[nth])).zip(at);
        tokio::spawn(async move {
            let result = match (step, subject) {
                (ClusterStep::Endpoint, _) => reach(endpoint, patience, say).await,
                (ClusterStep::Bootstrap(_), Some((subject, at))) => {
                    let before = act::bootstrap(&subject, at).await;
                    before.map(|before| if before { "it was done before".to_owned() } else { String::new() })
                }
                (ClusterStep::Health(_), Some((subject, at))) => {
                    act::health(&subject, at, info, patience, say).await.map(|()| String::new())
                }
                (ClusterStep::Kubeconfig(_), Some((subject, at))) => merge(subject, at, target).await,
                _ => Err(Ended::Later("it is gone".to_owned())),
            };
            if matches!(result, Err(Ended::Later(_) | Ended::Unknown(_))) {
                time::sleep(pause).await;
            }
            let _ = tell.send(Told::Cluster(step, result));
        });
    }

    /// The nodes that are up, by the addresses they have now.
    fn cluster_info(&self) -> ClusterInfo {
        let of = |role: Role| {
            let nodes = self.wanted.nodes.iter().zip(&self.seen.nodes);
            let up =
                nodes.filter(|(node, seen)| node.role == role && matches!(seen.look, Some(Look::Ours(_))));
            up.filter_map(|(_, seen)| Some(seen.at?.address.to_string())).collect()
        };
        ClusterInfo { control_plane_nodes: of(Role::Controlplane), worker_nodes: of(Role::Worker) }
    }

    /// Hears how a step of the cluster ended.
    pub(super) fn cluster_stepped(
        &mut self,
        step: ClusterStep,
        result: Result<String, Ended>,
    ) -> Result<(), PlaceError> {
        let cluster = &mut self.seen.cluster;
        cluster.busy = false;
        let before = self.record.clone();
        let mut new = true;
        let (state, said) = match result {
            Ok(said) => {
                self.tries = Tries::default();
                match step {
                    ClusterStep::Bootstrap(_) => {
                        if let Some(begun) = &mut self.record.bootstrap {
                            begun.done = Some(ichor_system::now());
                        }
                    }
                    ClusterStep::Endpoint => cluster.endpoint = true,
                    ClusterStep::Health(_) => cluster.healthy = true,
                    ClusterStep::Kubeconfig(_) => cluster.kubeconfig = true,
                }
                (State::Done, said)
            }
            Err(ended) => {
                // It surely was not done: nothing has begun.
                let surely = matches!(ended, Ended::Later(_) | Ended::Refused(_));
                if matches!(step, ClusterStep::Bootstrap(_)) && surely && !self.record.is_bootstrapped() {
                    self.record.bootstrap = None;
                }
                match ended {
                    Ended::Later(reason) | Ended::Unknown(reason) => {
                        new = self.tries.again(&reason);
                        if self.tries.since.is_some_and(|since| since.elapsed() >= self.tools.node_timeout) {
                            let seconds = self.tools.node_timeout.as_secs();
                            let told = format!("{} was tried for {seconds} s: {reason}", cluster_word(step));
                            let remedy = "`ichor verify` looks for the cause; then run `ichor up` again";
                            cluster.failed = Some(Blocker::new(None, told, remedy));
                        }
                        (State::Again, reason)
                    }
                    Ended::Refused(blocker) => {
                        let told = format!("{}: {}", cluster_word(step), blocker.issue.headline());
                        cluster.failed = Some(Blocker::new(None, told, blocker.remedy()));
                        (State::Failed, blocker.issue.message)
                    }
                }
            }
        };
        if before != self.record {
            self.place.write(&self.record)?;
        }
        if let Some(nth) = step.node() {
            self.epochs[nth] = self.bells[nth].ring();
        }
        if new {
            let node = step.node().map(|nth| self.wanted.nodes[nth].name.as_str());
            self.teller.step(node, cluster_word(step), state, None, &said);
        }
        Ok(())
    }
}

/// Fetches the kubeconfig, and puts it where it belongs.
async fn merge(subject: Arc<Subject>, at: Contact, target: Option<PathBuf>) -> Result<String, Ended> {
    let Some(target) = target else { return Ok("none is wanted".to_owned()) };
    let text = act::kubeconfig(subject, at).await?;
    let remedy = "mend that file, give another with `--kubeconfig`, or none with `--no-kubeconfig`";
    match kubeconfig::add(&target, &text) {
        Ok(()) => Ok(target.display().to_string()),
        Err(error) => Err(Ended::Refused(Blocker::new(None, format!("{error:#}"), remedy))),
    }
}

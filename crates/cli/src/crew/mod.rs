//! The nodes of a cluster that runs, and its Kubernetes: what is wanted of all of them together.
//!
//! [`Crew::connect`] gives a connection to a node wherever it is now, by [`Reach`]. The rest of this folder is what several commands
//! need: how etcd is (`etcd`), whether all is well (`health`), that a node comes back (`back`), that nothing runs on it
//! (`drain`), and what it runs (`running`).

mod back;
mod drain;
mod error;
mod etcd;
mod health;
mod running;

use ichor_core::bringup::contact::contacts;
use ichor_core::bringup::{Contact, Stage};
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_talos::secrets::Bundle;

use crate::chain::chain;
use crate::project::Project;
use crate::reach::{Reach, Reached, Way};
use ichor_client::kubernetes;
use ichor_client::kubernetes::{Kubernetes, Place};
use ichor_client::talos::Node;

pub(crate) use back::boot_id;
pub(crate) use drain::Drained;
pub(crate) use error::{CrewError, CrewOpenError};

/// The nodes of a cluster.
pub(crate) struct Crew<'p> {
    project: &'p Project,
    reach: Reach,
    /// Its Kubernetes.
    pub kubernetes: Kubernetes,
}

/// Who answers for a node.
pub(crate) enum Answers {
    /// The node.
    Node(Node),
    /// A machine without a configuration, and where.
    Maintenance(Contact),
    /// Somebody else or nobody, and why.
    Nobody(String),
}

impl<'p> Crew<'p> {
    /// The nodes of a project, reached with its secrets, which are given along.
    pub(crate) fn open(project: &'p Project, way: &Way) -> Result<(Self, Bundle), CrewOpenError> {
        let (reach, bundle) = Reach::open(project, way)?;
        let bundle = bundle.ok_or(CrewOpenError::NoSecrets)?;
        let plan = &project.plan;
        let mut places: Vec<Place> = Vec::new();
        for node in plan.control_planes() {
            let hosts = addresses(node).map(|address| address.address.to_string());
            places.extend(hosts.map(|host| Place { host, port: kubernetes::PORT }));
        }
        let endpoint = plan.cluster.endpoint.as_ref().map(|endpoint| &endpoint.value);
        if let Some((host, port)) = endpoint.and_then(|it| Some((it.host()?.to_owned(), it.port()))) {
            places.push(Place { host, port });
        }
        let kubernetes = Kubernetes::new(&bundle, places, ichor_system::now())?;
        Ok((Self { project, reach, kubernetes }, bundle))
    }

    /// Whose nodes they are.
    pub(crate) fn project(&self) -> &'p Project {
        self.project
    }

    fn nodes(&self) -> &'p [NodePlan] {
        &self.project.plan.nodes
    }

    fn control_planes(&self) -> impl Iterator<Item = &'p NodePlan> {
        self.nodes().iter().filter(|node| node.role == Role::Controlplane)
    }

    /// Finds out who answers for a node.
    pub(crate) async fn look(&self, node: &NodePlan) -> Answers {
        match self.reach.node(node).await {
            Reached::Configured(node, _) => Answers::Node(node),
            Reached::Maintenance(_, at) => Answers::Maintenance(at),
            other => {
                let why = other.node(node.name.as_str()).err();
                Answers::Nobody(why.map(|why| chain(&why)).unwrap_or_default())
            }
        }
    }

    /// Connects to a node, or says why that is not possible.
    pub(crate) async fn connect(&self, name: &str) -> Result<Node, CrewError> {
        let node = self.nodes().iter().find(|node| node.name.as_str() == name);
        match self.look(node.ok_or(CrewError::UnknownNode)?).await {
            Answers::Node(node) => Ok(node),
            Answers::Maintenance(at) => Err(CrewError::Maintenance(at)),
            Answers::Nobody(why) => Err(CrewError::Nobody(why)),
        }
    }
}

/// Whether it is known where a node's machine is while it has no configuration.
pub(crate) fn is_found_unconfigured(node: &NodePlan) -> bool {
    contacts(node, &[]).iter().any(|contact| matches!(contact.stage, Stage::Dhcp | Stage::External))
}

/// The addresses a node has while it runs, then all others.
fn addresses(node: &NodePlan) -> impl Iterator<Item = Contact> {
    let mut all = contacts(node, &[]);
    all.sort_by_key(|contact| match contact.stage {
        Stage::Static => 0,
        Stage::Overlay => 1,
        Stage::Dhcp => 2,
        Stage::External => 3,
    });
    all.into_iter()
}

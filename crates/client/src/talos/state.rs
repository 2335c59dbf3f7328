//! Calls about resources: a node's state.

use ichor_talos::api::cosi::{GetRequest, GetResponse, ListRequest, ListResponse};
use ichor_talos::api::method;
use ichor_talos::resource::{ReadError, Resource, ResourceKind as Typed, machine_config};

use super::NodeClient;
use super::call::NodeCall;
use super::error::{NodeError, NodeErrorKind};

const GET: NodeCall = NodeCall::quick("get resource", method::STATE_GET);
const LIST: NodeCall = NodeCall::quick("list resources", method::STATE_LIST);

impl NodeClient {
    /// One resource; none if it does not exist.
    pub async fn resource(
        &self,
        namespace: &str,
        r#type: &str,
        id: &str,
    ) -> Result<Option<Resource>, NodeError> {
        let request = GetRequest { namespace: namespace.into(), r#type: r#type.into(), id: id.into() };
        match self.ask::<_, GetResponse>(GET, request).await {
            Ok(answer) => {
                let resource = answer.resource.map(Resource::from_message).transpose();
                resource.map_err(|error| self.unreadable(GET, &error))
            }
            Err(error) if error.kind() == NodeErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All resources of a type; empty if the release does not have it.
    pub(crate) async fn resources(&self, namespace: &str, r#type: &str) -> Result<Vec<Resource>, NodeError> {
        let request = ListRequest { namespace: namespace.into(), r#type: r#type.into() };
        let listed = self.stream::<_, ListResponse>(LIST, request, false).all().await;
        let listed = match listed {
            Err(error) if matches!(error.kind(), NodeErrorKind::NotFound | NodeErrorKind::Unimplemented) => {
                Vec::new()
            }
            listed => listed?,
        };
        let read = listed.into_iter().filter_map(|it| it.resource).map(Resource::from_message);
        read.collect::<Result<_, _>>().map_err(|error| self.unreadable(LIST, &error))
    }

    /// A resource of a known type.
    pub async fn get<K: Typed>(&self, id: &str) -> Result<Option<K>, NodeError> {
        let found = self.resource(K::NAMESPACE, K::TYPE, id).await?;
        found.map(|it| it.read()).transpose().map_err(|error| self.unreadable(GET, &error))
    }

    /// All resources of a known type, by their names.
    pub async fn list<K: Typed>(&self) -> Result<Vec<(String, K)>, NodeError> {
        let found = self.resources(K::NAMESPACE, K::TYPE).await?;
        let read = found.into_iter().map(|it| it.read().map(|read| (it.id, read)));
        read.collect::<Result<_, _>>().map_err(|error| self.unreadable(LIST, &error))
    }

    /// Decodes a resource of a known type.
    pub fn understand<K: Typed>(&self, resource: &Resource) -> Result<K, NodeError> {
        resource.read().map_err(|error| self.unreadable(GET, &error))
    }

    /// The configuration that is in force, as text; a secret, and only for administrators.
    pub async fn machine_config(&self) -> Result<Option<String>, NodeError> {
        use machine_config::{ACTIVE, NAMESPACE, TYPE};
        let found = self.resource(NAMESPACE, TYPE, ACTIVE).await?;
        Ok(found.and_then(|it| it.machine_config().map(str::to_owned)))
    }

    pub(super) fn unreadable(&self, call: NodeCall, error: &ReadError) -> NodeError {
        NodeError::new(self.about(call.name), NodeErrorKind::Refused, error.to_string())
    }
}

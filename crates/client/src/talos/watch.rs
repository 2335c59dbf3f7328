//! Watches resources, so that callers need not poll for a change.

use std::collections::VecDeque;

use ichor_talos::api::cosi::{EventType, WatchOptions, WatchRequest, WatchResponse};
use ichor_talos::api::method;
use ichor_talos::resource::Resource;

use super::NodeClient;
use super::call::{NodeCall, ResponseStream};
use super::error::{NodeError, NodeErrorKind};

const WATCH: NodeCall = NodeCall::quick("watch resources", method::STATE_WATCH);

/// The API version of watch events: the first one that reports errors.
const EVENTS: i32 = 1;

/// A change of a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceEvent {
    /// It exists: new or changed.
    Is(Resource),
    /// It is gone.
    Gone(Resource),
    /// All resources that existed before have been sent.
    Caught,
}

/// A watch of resources.
pub struct ResourceWatch {
    node: NodeClient,
    stream: ResponseStream<WatchResponse>,
    ready: VecDeque<ResourceEvent>,
}

impl NodeClient {
    /// Watches the resources of a type: existing ones, then every change.
    pub fn watch(&self, namespace: &str, r#type: &str) -> ResourceWatch {
        let request = WatchRequest {
            namespace: namespace.into(),
            r#type: r#type.into(),
            id: None,
            options: Some(WatchOptions { bootstrap_contents: true }),
            api_version: EVENTS,
        };
        ResourceWatch {
            node: self.clone(),
            stream: self.stream(WATCH, request, true),
            ready: VecDeque::default(),
        }
    }
}

impl ResourceWatch {
    /// That the node ended the watch.
    pub fn over(&self) -> NodeError {
        NodeError::new(self.node.about(WATCH.name), NodeErrorKind::Lost, "the node ended the watch")
    }

    /// The next event; none when the node ends the watch.
    pub async fn next(&mut self) -> Result<Option<ResourceEvent>, NodeError> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Ok(Some(change));
            }
            let Some(answer) = self.stream.next().await? else { return Ok(None) };
            for event in answer.event {
                let change = match (event.event_type(), event.resource) {
                    (EventType::Errored, _) => {
                        let about = self.node.about(WATCH.name);
                        return Err(NodeError::new(
                            about,
                            NodeErrorKind::Lost,
                            format!("watch failed: {}", event.error),
                        ));
                    }
                    (EventType::Bootstrapped, _) => ResourceEvent::Caught,
                    (EventType::Noop, _) | (_, None) => continue,
                    (kind, Some(resource)) => {
                        let read = Resource::from_message(resource);
                        let read = read.map_err(|error| self.node.unreadable(WATCH, &error))?;
                        if kind == EventType::Destroyed {
                            ResourceEvent::Gone(read)
                        } else {
                            ResourceEvent::Is(read)
                        }
                    }
                };
                self.ready.push_back(change);
            }
        }
    }
}

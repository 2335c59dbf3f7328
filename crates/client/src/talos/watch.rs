//! What happens to resources, as it happens: whoever waits for a change need not ask again and again.

use std::collections::VecDeque;

use ichor_talos::api::cosi::{EventType, WatchOptions, WatchRequest, WatchResponse};
use ichor_talos::api::method;
use ichor_talos::resource::Resource;

use super::Node;
use super::call::{Call, Stream};
use super::error::{Kind, NodeError};

const WATCH: Call = Call::quick("watch resources", method::STATE_WATCH);

/// The version of the events a watch gives: the one in which errors are told.
const EVENTS: i32 = 1;

/// What happened to a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is there, new or changed.
    Is(Resource),
    /// It is gone.
    Gone(Resource),
    /// Everything that was there before has been told.
    Caught,
}

/// What happens to resources.
pub struct Watch {
    node: Node,
    stream: Stream<WatchResponse>,
    ready: VecDeque<Change>,
}

impl Node {
    /// What is there of a type, and what happens to it from then on.
    pub fn watch(&self, namespace: &str, r#type: &str) -> Watch {
        let request = WatchRequest {
            namespace: namespace.into(),
            r#type: r#type.into(),
            id: None,
            options: Some(WatchOptions { bootstrap_contents: true }),
            api_version: EVENTS,
        };
        Watch { node: self.clone(), stream: self.stream(WATCH, request, true), ready: VecDeque::default() }
    }
}

impl Watch {
    /// That the node ended the watch.
    pub fn over(&self) -> NodeError {
        NodeError::new(self.node.about(WATCH.name), Kind::Lost, "it ended the watch")
    }

    /// What happens next; none when the node ends the watch.
    pub async fn next(&mut self) -> Result<Option<Change>, NodeError> {
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
                            Kind::Lost,
                            format!("the watch broke: {}", event.error),
                        ));
                    }
                    (EventType::Bootstrapped, _) => Change::Caught,
                    (EventType::Noop, _) | (_, None) => continue,
                    (kind, Some(resource)) => {
                        let read = Resource::of(resource);
                        let read = read.map_err(|error| self.node.unreadable(WATCH, &error))?;
                        if kind == EventType::Destroyed { Change::Gone(read) } else { Change::Is(read) }
                    }
                };
                self.ready.push_back(change);
            }
        }
    }
}

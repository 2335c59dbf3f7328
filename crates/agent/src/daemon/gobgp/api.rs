//! gobgpd's API: calls over its socket, in the dialect of its release.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::agent::Session;
use ichor_bgp::agent::gobgp;
use ichor_bgp::agent::gobgp::GobgpConfig;
use ipnet::IpNet;
use prost::Message;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::dialect::{Dialect, family};
use super::message::{
    AddPathRequest, DeletePathRequest, Empty, GetBgpResponse, ListDefinedSetRequest, ListDefinedSetResponse,
    ListPathRequest, ListPathResponse, ListPeerRequest, ListPeerResponse, ListPolicyResponse, Peer,
    ResetPeerRequest, StopBgpRequest, WatchEventRequest, WatchFilter, WatchTable,
};
use super::peer;
use crate::grpc::{GrpcClient, GrpcError, MessageStream, UNIMPLEMENTED};
use crate::run::chain;

/// How long a reply may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);

/// A call of the API failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// gobgpd cannot be reached.
    #[error("cannot talk to gobgpd on {}", socket.display())]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// The cause.
        source: GrpcError,
    },
    /// A call failed.
    #[error("gobgpd does not answer {call} as it should: {reason}")]
    Call {
        /// The call.
        call: &'static str,
        /// The reason.
        reason: String,
    },
}

/// A connection to the API.
#[derive(Clone, Debug)]
pub struct Api {
    client: GrpcClient,
    dialect: Dialect,
}

/// Changes of the table.
#[derive(Debug)]
pub struct TableChanges {
    /// Counts the changes.
    count: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

impl TableChanges {
    /// Waits for the next change. Several since the last call count as one.
    pub async fn next(&mut self) -> Result<(), ApiError> {
        let ended = |_| ApiError::Call { call: "WatchEvent", reason: "the stream has ended".to_owned() };
        self.count.changed().await.map_err(ended)
    }
}

impl Drop for TableChanges {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Api {
    /// Connects, and detects the release.
    pub async fn connect(socket: &Path) -> Result<Self, ApiError> {
        let client = within(GrpcClient::connect(socket)).await;
        let client = client.map_err(|source| ApiError::Connect { socket: socket.to_owned(), source })?;
        let mut api = Self { client, dialect: Dialect::Four };
        match api.try_call::<_, GetBgpResponse>("GetBgp", Empty {}).await {
            Err(GrpcError::Status { code: UNIMPLEMENTED, .. }) => api.dialect = Dialect::Three,
            Err(error) => return Err(failed("GetBgp", &error)),
            Ok(_) => {}
        }
        Ok(api)
    }

    /// Its AS number; none before it has read its file.
    pub async fn asn(&mut self) -> Result<Option<u32>, ApiError> {
        let answer: GetBgpResponse = self.call("GetBgp", Empty {}).await?;
        Ok(answer.global.map(|global| global.asn).filter(|asn| *asn != 0))
    }

    /// The BGP sessions.
    pub async fn sessions(&mut self) -> Result<Vec<Session>, ApiError> {
        let now = i64::try_from(ichor_system::now().unix()).unwrap_or(i64::MAX);
        let dialect = self.dialect;
        Ok(self.peers().await?.iter().map(|peer| peer::session(peer, dialect, now)).collect())
    }

    async fn peers(&mut self) -> Result<Vec<Peer>, ApiError> {
        let all: Vec<ListPeerResponse> =
            self.list("ListPeer", ListPeerRequest { enable_advertised: true }).await?;
        Ok(all.into_iter().filter_map(|answer| answer.peer).collect())
    }

    /// The running configuration.
    pub async fn running(&mut self) -> Result<GobgpConfig, ApiError> {
        let neighbors = self.peers().await?.iter().map(peer::configured_timers).collect();
        let kind = ListDefinedSetRequest { defined_type: self.dialect.base_number() };
        let sets: Vec<ListDefinedSetResponse> = self.list("ListDefinedSet", kind).await?;
        let policies: Vec<ListPolicyResponse> = self.list("ListPolicy", Empty {}).await?;
        let prefix = |prefix: super::message::Prefix| {
            format!("{} {}..{}", prefix.net, prefix.mask_length_min, prefix.mask_length_max)
        };
        let sets = sets.into_iter().filter_map(|answer| answer.defined_set);
        let policies = policies.into_iter().filter_map(|answer| answer.policy);
        Ok(GobgpConfig {
            neighbors,
            sets: sets.map(|set| (set.name, set.prefixes.into_iter().map(prefix).collect())).collect(),
            policies: policies
                .map(|policy| (policy.name, policy.statements.into_iter().map(|one| one.name).collect()))
                .collect(),
        })
    }

    /// The paths of the table, of both families.
    pub async fn paths(&mut self) -> Result<Vec<gobgp::BgpPath>, ApiError> {
        let dialect = self.dialect;
        let mut paths = Vec::new();
        for v4 in [true, false] {
            let which = ListPathRequest { table_type: dialect.base_number(), family: Some(family(v4)) };
            let found: Vec<ListPathResponse> = self.list("ListPath", which).await?;
            for destination in found.into_iter().filter_map(|answer| answer.destination) {
                let parsed =
                    destination.paths.iter().filter_map(|path| dialect.parse_path(&destination.prefix, path));
                paths.extend(parsed);
            }
        }
        Ok(paths)
    }

    /// Adds an address of the node to the table.
    pub async fn add_path(&mut self, net: IpNet) -> Result<(), ApiError> {
        let (table_type, path) = (self.dialect.base_number(), Some(self.dialect.own_path(net)));
        self.call::<_, Empty>("AddPath", AddPathRequest { table_type, path }).await.map(drop)
    }

    /// Removes an address of the node from the table.
    pub async fn delete_path(&mut self, net: IpNet) -> Result<(), ApiError> {
        let table_type = self.dialect.base_number();
        let path = super::message::Path { is_withdraw: true, ..self.dialect.own_path(net) };
        let request = DeletePathRequest { table_type, family: path.family, path: Some(path) };
        self.call::<_, Empty>("DeletePath", request).await.map(drop)
    }

    /// Watches the table: every change from now on, and once for its present content, which [`paths`](Self::paths)
    /// returns.
    ///
    /// gobgpd does not even start its response before the first event, so the stream is opened in the background.
    pub fn changes(mut self) -> TableChanges {
        let filters = vec![WatchFilter { kind: self.dialect.base_number(), init: true }];
        let request = WatchEventRequest { table: Some(WatchTable { filters }) };
        let (sender, count) = watch::channel(0);
        let task = tokio::spawn(async move {
            let Ok(mut stream) = self.stream::<_, Empty>("WatchEvent", request).await else { return };
            while let Ok(Some(_)) = stream.next().await {
                sender.send_modify(|count| *count += 1);
            }
        });
        TableChanges { count, task }
    }

    /// Sends all routes to all neighbours again, including withdrawals. Sessions stay up.
    pub async fn readvertise(&mut self) -> Result<(), ApiError> {
        let direction = self.dialect.outbound();
        let request = ResetPeerRequest { address: "all".to_owned(), soft: true, direction };
        self.call::<_, Empty>("ResetPeer", request).await.map(drop)
    }

    /// Ends all sessions without closing them, so that neighbours keep routes. GoBGP 3 always closes them.
    pub async fn pause(&mut self) -> Result<(), ApiError> {
        if self.dialect == Dialect::Three {
            return Err(ApiError::Call {
                call: "StopBgp",
                reason: "GoBGP 3 always closes its sessions".to_owned(),
            });
        }
        self.stop(true).await
    }

    /// Closes all sessions.
    pub async fn close(&mut self) -> Result<(), ApiError> {
        self.stop(false).await
    }

    async fn stop(&mut self, allow_graceful_restart: bool) -> Result<(), ApiError> {
        let request = StopBgpRequest { allow_graceful_restart };
        self.call::<_, Empty>("StopBgp", request).await.map(drop)
    }

    async fn call<Q, A>(&mut self, name: &'static str, request: Q) -> Result<A, ApiError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.try_call(name, request).await.map_err(|error| failed(name, &error))
    }

    async fn try_call<Q, A>(&mut self, name: &'static str, request: Q) -> Result<A, GrpcError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        within(self.client.call(&self.dialect.call(name), &request)).await
    }

    async fn list<Q, A>(&mut self, name: &'static str, request: Q) -> Result<Vec<A>, ApiError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let all = async {
            let mut stream = self.stream(name, request).await?;
            let mut all = Vec::new();
            while let Some(one) = stream.next().await? {
                all.push(one);
            }
            Ok(all)
        };
        within(all).await.map_err(|error| failed(name, &error))
    }

    async fn stream<Q, A>(&mut self, name: &'static str, request: Q) -> Result<MessageStream<A>, GrpcError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.client.stream(&self.dialect.call(name), &request).await
    }
}

async fn within<T>(work: impl Future<Output = Result<T, GrpcError>>) -> Result<T, GrpcError> {
    timeout(REPLY_TIMEOUT, work).await.unwrap_or(Err(GrpcError::Late(REPLY_TIMEOUT.as_secs())))
}

fn failed(call: &'static str, error: &GrpcError) -> ApiError {
    ApiError::Call { call, reason: chain(error) }
}

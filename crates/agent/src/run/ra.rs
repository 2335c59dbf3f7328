//! Router advertisements on ports: soliciting them, receiving them, and sending the node's own.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

use ichor_bgp::agent::Link;
use ichor_bgp::agent::advertisement::NdpMessage;
use ichor_values::Mac;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::kernel::advertisement::RaSocket;
use crate::log;

/// The interval of solicitations while no router has answered.
const SOON: Duration = Duration::from_millis(500);
/// The interval of solicitations after an answer or many attempts, and of the node's own advertisements.
const LATER: Duration = Duration::from_secs(10);
/// The number of frequent solicitations without an answer.
const TRIES: u32 = 40;

/// A received router advertisement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RouterAdvertisement {
    /// The port.
    pub port: String,
    /// The router's address.
    pub router: Ipv6Addr,
    /// Its MAC address, if the advertisement has one.
    pub mac: Option<Mac>,
}

/// A listener on each port.
pub(super) struct RaListeners {
    /// By name and index of the port: a port that comes back has another index.
    listening: BTreeMap<(String, u32), JoinHandle<()>>,
    received: mpsc::Sender<RouterAdvertisement>,
    /// Counts the requests to solicit again.
    solicit_requests: watch::Sender<u64>,
    /// Whether the agent sends advertisements, because the daemon does not.
    advertises: bool,
}

impl RaListeners {
    pub(super) fn new(advertises: bool) -> (Self, mpsc::Receiver<RouterAdvertisement>) {
        let (received, advertisements) = mpsc::channel(64);
        (
            Self {
                listening: BTreeMap::new(),
                received,
                solicit_requests: watch::Sender::new(0),
                advertises,
            },
            advertisements,
        )
    }

    /// Listens on exactly these ports.
    pub(super) fn listen<'l>(&mut self, ports: impl IntoIterator<Item = &'l Link>) {
        let mut before = std::mem::take(&mut self.listening);
        for link in ports.into_iter().filter(|link| link.up) {
            let key = (link.name.clone(), link.index);
            let same = before.remove(&key);
            let listener = same.unwrap_or_else(|| {
                let listener = RaListener {
                    link: link.clone(),
                    received: self.received.clone(),
                    advertises: self.advertises,
                };
                tokio::spawn(listener.listen(self.solicit_requests.subscribe()))
            });
            self.listening.insert(key, listener);
        }
        for listener in before.into_values() {
            listener.abort();
        }
    }

    /// Solicits advertisements on every port until a router answers.
    pub(super) fn solicit(&self) {
        self.solicit_requests.send_modify(|count| *count += 1);
    }
}

struct RaListener {
    link: Link,
    received: mpsc::Sender<RouterAdvertisement>,
    advertises: bool,
}

impl RaListener {
    async fn listen(self, mut solicit_requests: watch::Receiver<u64>) {
        loop {
            let failed = match RaSocket::open(&self.link) {
                Ok(port) => {
                    let Err(error) = self.serve(&port, &mut solicit_requests).await;
                    error
                }
                Err(error) => error,
            };
            log::debug(format_args!("cannot listen for routers on port {}: {failed}", self.link.name));
            sleep(LATER / 10).await;
        }
    }

    /// Solicits, receives and advertises until the port fails.
    async fn serve(
        &self,
        port: &RaSocket,
        solicit_requests: &mut watch::Receiver<u64>,
    ) -> Result<std::convert::Infallible, std::io::Error> {
        let (mut tries, mut solicit_at, mut advertise_at) = (0, Instant::now(), Instant::now());
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(solicit_at) => {
                    // Sending fails until the port has an address. The next attempt follows.
                    let _ = port.solicit().await;
                    tries += 1;
                    solicit_at = Instant::now() + if tries < TRIES { SOON } else { LATER };
                }
                () = tokio::time::sleep_until(advertise_at), if self.advertises => {
                    let sent = port.advertise().await.is_ok();
                    advertise_at = Instant::now() + if sent { LATER } else { SOON };
                }
                changed = solicit_requests.changed() => {
                    if changed.is_err() {
                        std::future::pending::<()>().await;
                    }
                    (tries, solicit_at) = (0, Instant::now());
                }
                received = port.receive() => match received? {
                    (router, NdpMessage::Advertisement(advertisement)) => {
                        solicit_at = Instant::now() + LATER;
                        let router = RouterAdvertisement { port: self.link.name.clone(), router, mac: advertisement.source };
                        // An agent that does not keep up receives the next one.
                        let _ = self.received.try_send(router);
                    }
                    (_, NdpMessage::Solicitation { .. }) => advertise_at = Instant::now(),
                },
            }
        }
    }
}

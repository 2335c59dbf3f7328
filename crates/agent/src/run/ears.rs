//! Listening on ports: which routers are there, and asking them to speak.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

use ichor_bgp::agent::Link;
use ichor_bgp::agent::advertisement::Message;
use ichor_values::Mac;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::kernel::advertisement::Port;
use crate::say;

/// Between two questions while nobody answered the last.
const SOON: Duration = Duration::from_millis(500);
/// Between two when somebody did, or nobody did for long; and between two advertisements.
const LATER: Duration = Duration::from_secs(10);
/// Questions in a row before it is taken that nobody is there.
const TRIES: u32 = 40;

/// A router that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// The port.
    pub port: String,
    /// The router's address.
    pub router: Ipv6Addr,
    /// Its MAC address, where it said so.
    pub mac: Option<Mac>,
}

/// An ear on each port.
pub(super) struct Ears {
    /// By name and number of the port: one that comes back is another.
    listening: BTreeMap<(String, u32), JoinHandle<()>>,
    told: mpsc::Sender<Heard>,
    /// Counts the times that routers shall be asked anew.
    asked: watch::Sender<u64>,
    /// Whether the node advertises itself, because its daemon does not.
    advertises: bool,
}

impl Ears {
    pub(super) fn new(advertises: bool) -> (Self, mpsc::Receiver<Heard>) {
        let (told, heard) = mpsc::channel(64);
        (Self { listening: BTreeMap::new(), told, asked: watch::Sender::new(0), advertises }, heard)
    }

    /// Listens on exactly these ports.
    pub(super) fn listen<'l>(&mut self, ports: impl IntoIterator<Item = &'l Link>) {
        let mut before = std::mem::take(&mut self.listening);
        for link in ports.into_iter().filter(|link| link.up) {
            let key = (link.name.clone(), link.index);
            let same = before.remove(&key);
            let ear = same.unwrap_or_else(|| {
                let ear = Ear { link: link.clone(), told: self.told.clone(), advertises: self.advertises };
                tokio::spawn(ear.listen(self.asked.subscribe()))
            });
            self.listening.insert(key, ear);
        }
        for ear in before.into_values() {
            ear.abort();
        }
    }

    /// Asks for routers on every port, until one answers.
    pub(super) fn ask(&self) {
        self.asked.send_modify(|count| *count += 1);
    }
}

struct Ear {
    link: Link,
    told: mpsc::Sender<Heard>,
    advertises: bool,
}

impl Ear {
    async fn listen(self, mut asked: watch::Receiver<u64>) {
        loop {
            let failed = match Port::open(&self.link) {
                Ok(port) => {
                    let Err(error) = self.serve(&port, &mut asked).await;
                    error
                }
                Err(error) => error,
            };
            say::debug(format_args!("{}: cannot listen for routers: {failed}", self.link.name));
            sleep(LATER / 10).await;
        }
    }

    /// Asks and hears until the port fails.
    async fn serve(
        &self,
        port: &Port,
        asked: &mut watch::Receiver<u64>,
    ) -> Result<std::convert::Infallible, std::io::Error> {
        let (mut tries, mut ask, mut advertise) = (0, Instant::now(), Instant::now());
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(ask) => {
                    // A port that has no address so far cannot ask: it tries again.
                    let _ = port.solicit().await;
                    tries += 1;
                    ask = Instant::now() + if tries < TRIES { SOON } else { LATER };
                }
                () = tokio::time::sleep_until(advertise), if self.advertises => {
                    let sent = port.advertise().await.is_ok();
                    advertise = Instant::now() + if sent { LATER } else { SOON };
                }
                changed = asked.changed() => {
                    if changed.is_err() {
                        std::future::pending::<()>().await;
                    }
                    (tries, ask) = (0, Instant::now());
                }
                heard = port.hear() => match heard? {
                    (router, Message::Advertisement(said)) => {
                        ask = Instant::now() + LATER;
                        let heard = Heard { port: self.link.name.clone(), router, mac: said.source };
                        // Whoever does not keep up hears of it next time.
                        let _ = self.told.try_send(heard);
                    }
                    (_, Message::Solicitation { .. }) => advertise = Instant::now(),
                },
            }
        }
    }
}

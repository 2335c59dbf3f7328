//! The listeners of simulated nodes: sockets that open and close with the phases of the nodes.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::fleet::{AuthMode, Fleet, OpenListeners};
use ichor_talos::api::PORT;
use rustls::ServerConfig;
use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time;
use tokio_rustls::TlsAcceptor;

use super::certificates::{CertificateError, CertificateRequest};
use super::state::SimulatorState;
use super::{kubernetes, talos};

/// The port of Kubernetes' API.
const KUBERNETES: u16 = 6443;
/// The timeout of a client's handshake.
const GREETING: Duration = Duration::from_secs(10);
/// How long pending responses may take when a listener closes.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long a rejected client may take to disconnect.
const LEAVING: Duration = Duration::from_secs(1);
/// Connections that wait to be taken.
const BACKLOG: i32 = 128;

/// Which door.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ListenerKind {
    Maintenance,
    Mutual,
    Kubernetes,
}

/// A door of a machine in one of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ListenerKey {
    nth: usize,
    run: u64,
    address: IpAddr,
    kind: ListenerKind,
}

/// A door that is open.
struct RunningListener {
    task: JoinHandle<()>,
    closes: watch::Sender<bool>,
}

/// Opens and closes listeners with the phases of the nodes.
pub(crate) async fn run_listeners(world: Arc<SimulatorState>) {
    let mut changed = world.watch();
    let mut before: Vec<OpenListeners> = Vec::new();
    let mut open: HashMap<ListenerKey, RunningListener> = HashMap::new();
    loop {
        let wanted: Vec<OpenListeners> =
            world.read(|fleet| (0..fleet.machines.len()).map(|nth| fleet.listeners(nth)).collect());
        let changes = |nth: usize| before.get(nth) != Some(&wanted[nth]);
        let changing: Vec<usize> = (0..wanted.len()).filter(|nth| changes(*nth)).collect();
        // An address may move from one machine to another: it is given up before it is taken.
        for nth in &changing {
            let keys = listener_keys(*nth, &wanted[*nth]);
            let gone: Vec<ListenerKey> =
                open.keys().filter(|key| key.nth == *nth && !keys.contains(key)).copied().collect();
            for key in gone {
                if let Some(open) = open.remove(&key) {
                    close_listener(open).await;
                }
            }
        }
        for nth in &changing {
            open_listeners(&world, &mut open, *nth, &wanted[*nth]);
        }
        before = wanted;
        if changed.changed().await.is_err() {
            return;
        }
    }
}

fn listener_keys(nth: usize, listeners: &OpenListeners) -> Vec<ListenerKey> {
    let talos = listeners.talos.map(|lock| match lock {
        AuthMode::Maintenance => ListenerKind::Maintenance,
        AuthMode::Mutual => ListenerKind::Mutual,
    });
    let kinds = talos.into_iter().chain(listeners.kubernetes.then_some(ListenerKind::Kubernetes));
    let run = listeners.run;
    kinds
        .flat_map(|kind| {
            listeners.addresses.iter().map(move |address| ListenerKey { nth, run, address: *address, kind })
        })
        .collect()
}

/// Opens the listeners that are not open yet.
fn open_listeners(
    world: &Arc<SimulatorState>,
    open: &mut HashMap<ListenerKey, RunningListener>,
    nth: usize,
    listeners: &OpenListeners,
) {
    let mut configs: HashMap<ListenerKind, Result<Arc<ServerConfig>, CertificateError>> = HashMap::new();
    for key in listener_keys(nth, listeners) {
        if open.contains_key(&key) {
            continue;
        }
        let port = if key.kind == ListenerKind::Kubernetes { KUBERNETES } else { PORT };
        let listener = match bind(SocketAddr::new(key.address, port)) {
            Ok(listener) => listener,
            Err(error) => {
                log_listener(
                    world,
                    nth,
                    &format!("cannot listen on {}: {error}", SocketAddr::new(key.address, port)),
                );
                continue;
            }
        };
        let config = configs
            .entry(key.kind)
            .or_insert_with(|| world.read(|fleet| certificate_request(fleet, nth, key.kind))?.make());
        match config {
            Ok(config) => {
                let (closes, closing) = watch::channel(false);
                let acceptor = TlsAcceptor::from(Arc::clone(config));
                let house = ListenerContext { world: Arc::clone(world), nth, kind: key.kind };
                let task = tokio::spawn(serve(house, listener, acceptor, closing));
                open.insert(key, RunningListener { task, closes });
            }
            Err(error) => log_listener(world, nth, &error.to_string()),
        }
    }
}

fn certificate_request(
    fleet: &Fleet,
    nth: usize,
    kind: ListenerKind,
) -> Result<CertificateRequest, CertificateError> {
    match kind {
        ListenerKind::Maintenance => CertificateRequest::talos(fleet, nth, AuthMode::Maintenance),
        ListenerKind::Mutual => CertificateRequest::talos(fleet, nth, AuthMode::Mutual),
        ListenerKind::Kubernetes => CertificateRequest::kubernetes(fleet, nth),
    }
}

fn log_listener(world: &SimulatorState, nth: usize, words: &str) {
    let name = world.read(|fleet| fleet.machines[nth].hardware.name.clone());
    world.journal.write(world.now(), json!({"node": name, "note": words}));
}

/// Closes a listener: new connections fail at once, and established ones end after a moment.
async fn close_listener(open: RunningListener) {
    open.closes.send_replace(true);
    open.task.abort();
    // The address is free when the task is gone.
    let _ = open.task.await;
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// The listener of a connection.
#[derive(Clone)]
struct ListenerContext {
    world: Arc<SimulatorState>,
    nth: usize,
    kind: ListenerKind,
}

async fn serve(
    house: ListenerContext,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    closing: watch::Receiver<bool>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let (house, acceptor, closing) = (house.clone(), acceptor.clone(), closing.clone());
                tokio::spawn(serve_connection(house, stream, from, acceptor, closing));
            }
            // Too many open files: others may close theirs.
            Err(_) => time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Greets a guest and answers until one of the two has enough.
async fn serve_connection(
    house: ListenerContext,
    stream: TcpStream,
    from: SocketAddr,
    acceptor: TlsAcceptor,
    closing: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let stream = match time::timeout(GREETING, acceptor.accept(stream).into_fallible()).await {
        Ok(Ok(stream)) => stream,
        Ok(Err((error, stream))) => {
            log_listener(&house.world, house.nth, &format!("rejected {from}: {error}"));
            drain_rejected(stream).await;
            return;
        }
        Err(_) => return,
    };
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let certificate = certificate.map(|certificate| certificate.to_vec());
    match house.kind {
        ListenerKind::Kubernetes => {
            kubernetes::serve(house.world, house.nth, stream, certificate.is_some(), closing, FAREWELL).await;
        }
        ListenerKind::Maintenance | ListenerKind::Mutual => {
            let visit = talos::ApiConnection::new(house.world, house.nth, certificate.as_deref(), from);
            talos::serve(visit, stream, closing, FAREWELL).await;
        }
    }
}

/// Reads the rest of a rejected client's data: closing a socket with unread data resets it, and the TLS alert would be lost.
async fn drain_rejected(mut stream: TcpStream) {
    let mut words = [0; 1024];
    let drain = async {
        let _ = stream.shutdown().await;
        while stream.read(&mut words).await.is_ok_and(|length| length > 0) {}
    };
    let _ = time::timeout(LEAVING, drain).await;
}

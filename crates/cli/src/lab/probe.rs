//! Continuous ICMP echo probes from several network namespaces.
//!
//! One thread per namespace sends echo requests on raw sockets, one socket per source address, and records which of them
//! were answered. All times are relative to one start.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ichor_core::lab::echo;
use ichor_core::lab::outage::EchoSample;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};
use socket2::{Domain, Protocol, Socket, Type};

/// Rate and timeout of probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeLoad {
    /// Maximum packets per second of all streams together.
    rate: u64,
    /// Timeout after which a packet counts as lost.
    timeout: Duration,
}

impl ProbeLoad {
    /// The load for a real processor.
    pub(crate) const REAL: Self = Self { rate: 4000, timeout: Duration::from_secs(1) };
    /// The load for an emulated processor; a higher one would starve the daemons.
    pub(crate) const EMULATED: Self = Self { rate: 100, timeout: Duration::from_secs(5) };
}

/// Shortest interval between packets of a stream, in milliseconds.
const MIN_INTERVAL: u64 = 10;

/// A sequence of probe packets.
#[derive(Clone, Debug)]
pub(crate) struct ProbeStream {
    /// Process in whose network namespace the packets are sent.
    pub pid: i32,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// Whether outages are measured; otherwise only reachability.
    pub frequent: bool,
}

/// Errors of starting probes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeStartError {
    #[error("cannot enter the network namespace of process {pid}")]
    Enter { pid: i32, source: io::Error },
    #[error("cannot send from {address}")]
    Open { address: IpAddr, source: io::Error },
}

/// Intervals between packets of a stream, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProbeIntervals {
    /// Interval of frequent streams.
    pub frequent: u64,
    /// Interval of the other streams.
    pub rare: u64,
}

impl ProbeIntervals {
    /// Intervals for these numbers of streams. Rare streams share a quarter of all packets.
    fn for_streams(frequent: usize, rare: usize, ProbeLoad { rate, .. }: ProbeLoad) -> Self {
        let share = |streams: usize, rate: u64| (streams as u64 * 1000).div_ceil(rate).max(MIN_INTERVAL);
        match rare {
            0 => Self { frequent: share(frequent, rate), rare: MIN_INTERVAL },
            _ => Self { frequent: share(frequent, rate * 3 / 4), rare: share(rare, rate / 4) },
        }
    }

    fn interval(self, stream: &ProbeStream) -> u64 {
        if stream.frequent { self.frequent } else { self.rare }
    }
}

/// The recorded results of a stream.
#[derive(Clone, Debug, Default)]
struct SampleLog {
    /// Number of discarded results.
    forgotten: usize,
    samples: VecDeque<EchoSample>,
}

/// Logs by stream of a thread.
type SharedLogs = Arc<Mutex<Vec<SampleLog>>>;

/// Running probes, stopped on drop.
#[derive(Debug)]
pub(crate) struct Probe {
    start: Instant,
    /// Packet intervals.
    pub intervals: ProbeIntervals,
    timeout: Duration,
    over: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
    /// By stream: the index of its worker, and its index in that worker.
    positions: Vec<(usize, usize)>,
    logs: Vec<SharedLogs>,
}

impl Probe {
    /// Starts all streams.
    pub(crate) fn start(streams: &[ProbeStream], load: ProbeLoad) -> Result<Self, ProbeStartError> {
        let start = Instant::now();
        let frequent = streams.iter().filter(|stream| stream.frequent).count();
        let intervals = ProbeIntervals::for_streams(frequent, streams.len() - frequent, load);
        let over = Arc::new(AtomicBool::new(false));
        let mut by_pid: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (nth, stream) in streams.iter().enumerate() {
            by_pid.entry(stream.pid).or_default().push(nth);
        }
        let mut positions = vec![(0, 0); streams.len()];
        let (workers, timeout) = (Vec::new(), load.timeout);
        let mut probe =
            Self { start, intervals, timeout, over, workers, positions: Vec::new(), logs: Vec::new() };
        for (worker, (pid, members)) in by_pid.into_iter().enumerate() {
            for (nth, member) in members.iter().enumerate() {
                positions[*member] = (worker, nth);
            }
            let own: Vec<ProbeStream> = members.iter().map(|nth| streams[*nth].clone()).collect();
            let log = Arc::new(Mutex::new(vec![SampleLog::default(); own.len()]));
            let config = SenderConfig { start, intervals, timeout, log: Arc::clone(&log) };
            let entered = enter_netns(pid, own, config, Arc::clone(&probe.over))?;
            probe.workers.push(entered);
            probe.logs.push(log);
        }
        probe.positions = positions;
        Ok(probe)
    }

    /// Milliseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        millis(self.start.elapsed())
    }

    /// Results of a stream for packets sent since `since` whose timeout has passed.
    pub(crate) fn since(&self, stream: usize, since: u64) -> Vec<EchoSample> {
        let due = self.now().saturating_sub(millis(self.timeout));
        let (worker, nth) = self.positions[stream];
        let log = lock_log(&self.logs[worker]);
        let samples = &log[nth].samples;
        let sent = samples.range(samples.partition_point(|sample| sample.at < since)..).copied();
        sent.take_while(|sample| sample.at <= due || sample.answered).collect()
    }

    /// Discards the results of packets sent before `before`.
    pub(crate) fn forget(&self, before: u64) {
        for logs in &self.logs {
            for log in lock_log(logs).iter_mut() {
                let old = log.samples.partition_point(|sample| sample.at < before);
                log.samples.drain(..old);
                log.forgotten += old;
            }
        }
    }

    /// Whether a worker stopped unexpectedly.
    pub(crate) fn is_broken(&self) -> bool {
        self.workers.iter().any(JoinHandle::is_finished)
    }

    /// Delay until a change is visible in [`since`](Self::since).
    pub(crate) fn delay(&self) -> Duration {
        self.timeout + Duration::from_millis(2 * self.intervals.frequent.max(self.intervals.rare))
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            // A panic was printed by its thread.
            let _ = worker.join();
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn lock_log<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread in the network namespace of a process, and waits until it has entered it.
fn enter_netns(
    pid: i32,
    streams: Vec<ProbeStream>,
    config: SenderConfig,
    over: Arc<AtomicBool>,
) -> Result<JoinHandle<()>, ProbeStartError> {
    let (ready_tx, ready_rx) = std::sync::mpsc::channel();
    let worker = thread::spawn(move || {
        let opened = EchoSender::open(pid, streams, config);
        match opened {
            Err(error) => drop(ready_tx.send(Err(error))),
            Ok(mut sender) => {
                let _ = ready_tx.send(Ok(()));
                while !over.load(Ordering::Relaxed) {
                    sender.send_due();
                }
            }
        }
    });
    match ready_rx.recv() {
        Ok(Ok(())) => Ok(worker),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(ProbeStartError::Enter { pid, source: io::Error::other("the thread ended") }),
    }
}

/// Schedule of a thread, and its result logs.
struct SenderConfig {
    start: Instant,
    intervals: ProbeIntervals,
    timeout: Duration,
    log: SharedLogs,
}

/// Sends and receives echo packets in one thread.
struct EchoSender {
    sockets: Vec<Socket>,
    /// By stream: its socket, and the time of its next packet in milliseconds.
    streams: Vec<(usize, ProbeStream, u64)>,
    config: SenderConfig,
    /// ICMP identifier, which distinguishes our packets from those of other programs.
    token: u16,
}

impl EchoSender {
    fn open(pid: i32, streams: Vec<ProbeStream>, config: SenderConfig) -> Result<Self, ProbeStartError> {
        let path = PathBuf::from(format!("/proc/{pid}/ns/net"));
        let entered = File::open(path).and_then(|namespace| Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?));
        entered.map_err(|source| ProbeStartError::Enter { pid, source })?;
        let intervals = config.intervals;
        let mut sender = Self { sockets: Vec::new(), streams: Vec::new(), config, token: 0 };
        sender.token = u16::try_from(std::process::id() & 0xffff).unwrap_or_default();
        let mut known: BTreeMap<IpAddr, usize> = BTreeMap::new();
        let count = streams.len() as u64;
        for (nth, stream) in (0_u64..).zip(streams) {
            let socket = match known.get(&stream.source) {
                Some(socket) => *socket,
                None => {
                    let address = stream.source;
                    let opened = open(address).map_err(|source| ProbeStartError::Open { address, source })?;
                    sender.sockets.push(opened);
                    known.insert(address, sender.sockets.len() - 1);
                    sender.sockets.len() - 1
                }
            };
            // Spread over the interval to avoid bursts.
            let first = sender.now() + nth * intervals.interval(&stream) / count;
            sender.streams.push((socket, stream, first));
        }
        Ok(sender)
    }

    fn now(&self) -> u64 {
        millis(self.config.start.elapsed())
    }

    /// Sends due packets, and receives replies until the next is due.
    fn send_due(&mut self) {
        let now = self.now();
        let mut log = lock_log(&self.config.log);
        for (nth, (socket, stream, next)) in self.streams.iter_mut().enumerate() {
            if *next > now {
                continue;
            }
            let SampleLog { forgotten, samples } = &mut log[nth];
            let sequence = *forgotten + samples.len();
            let packet = echo::build_request(stream.to.is_ipv6(), self.token, nth, sequence);
            // Without a route the packet is lost, which is a valid result.
            let _ = self.sockets[*socket].send_to(&packet, &SocketAddr::new(stream.to, 0).into());
            samples.push_back(EchoSample { at: now, answered: false });
            *next = (*next + self.config.intervals.interval(stream)).max(now);
        }
        drop(log);
        let next = self.streams.iter().map(|(_, _, next)| *next).min().unwrap_or(now);
        self.receive_replies(next.saturating_sub(self.now()).min(100));
    }

    fn receive_replies(&self, wait: u64) {
        let mut fds: Vec<PollFd<'_>> =
            self.sockets.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        let timeout = PollTimeout::from(u16::try_from(wait).unwrap_or(100));
        if !poll(&mut fds, timeout).is_ok_and(|count| count > 0) {
            return;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        let mut log = lock_log(&self.config.log);
        let now = self.now();
        let mut buffer = [0; 2048];
        for (mut socket, _) in self.sockets.iter().zip(ready).filter(|(_, ready)| *ready) {
            while let Ok(length) = socket.read(&mut buffer) {
                let v6 = socket.domain().is_ok_and(|domain| domain == Domain::IPV6);
                let Some((stream, sequence)) = echo::parse_reply(v6, self.token, &buffer[..length]) else {
                    continue;
                };
                let sample = log
                    .get_mut(stream)
                    .and_then(|log| log.samples.get_mut(sequence.checked_sub(log.forgotten)?));
                if let Some(sample) = sample.filter(|sample| now - sample.at <= millis(self.config.timeout)) {
                    sample.answered = true;
                }
            }
        }
    }
}

/// Opens a raw socket bound to a source address.
fn open(address: IpAddr) -> io::Result<Socket> {
    let (domain, protocol) = match address {
        IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
        IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
    };
    let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    socket.set_nonblocking(true)?;
    socket.set_recv_buffer_size(1 << 20)?;
    socket.bind(&SocketAddr::new(address, 0).into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_together_never_exceed_the_rate() {
        let frequent = |streams| ProbeIntervals::for_streams(streams, 0, ProbeLoad::REAL).frequent;
        assert_eq!((frequent(1), frequent(40), frequent(41), frequent(4000)), (10, 10, 11, 1000));
        assert_eq!(
            ProbeIntervals::for_streams(300, 2000, ProbeLoad::REAL),
            ProbeIntervals { frequent: 100, rare: 2000 }
        );
        assert_eq!(ProbeIntervals::for_streams(300, 0, ProbeLoad::EMULATED).frequent, 3000);
    }
}

#[cfg(test)]
mod lab {
    use std::process::{Child, Command};

    use ichor_core::lab::outage::{longest_since, loss_intervals};

    use super::*;

    /// A network namespace, removed on drop.
    struct TestNetns(Child);

    impl TestNetns {
        fn new() -> Self {
            let child =
                Command::new("unshare").args(["--net", "sleep", "120"]).spawn().expect("unshare runs");
            let own = std::fs::read_link("/proc/self/ns/net").unwrap();
            let path = format!("/proc/{}/ns/net", child.id());
            while std::fs::read_link(&path).is_ok_and(|namespace| namespace == own) {
                thread::sleep(Duration::from_millis(5));
            }
            Self(child)
        }

        fn pid(&self) -> i32 {
            i32::try_from(self.0.id()).unwrap()
        }

        fn run(&self, command: &str) {
            let pid = self.pid().to_string();
            let mut entered = Command::new("nsenter");
            entered.args(["--target", &pid, "--net", "sh", "-ec", command]);
            assert!(entered.status().expect("nsenter runs").success(), "{command}");
        }
    }

    impl Drop for TestNetns {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn longest(probe: &Probe, stream: usize, since: u64) -> u64 {
        longest_since(&probe.since(stream, since), since).map_or(0, |gap| gap.length)
    }

    #[test]
    fn the_outage_of_a_cut_cable_is_measured() {
        let (one, other) = (TestNetns::new(), TestNetns::new());
        one.run(&format!("ip link add near type veth peer name far netns {}", other.pid()));
        one.run("ip link set lo up; ip address add 192.0.2.1/24 dev near; ip -6 address add fd00::1/64 dev near nodad; ip link set near up");
        other.run("ip link set lo up; ip address add 192.0.2.2/24 dev far; ip -6 address add fd00::2/64 dev far nodad; ip link set far up");
        let stream = |source: &str, to: &str| ProbeStream {
            pid: one.pid(),
            source: source.parse().unwrap(),
            to: to.parse().unwrap(),
            frequent: true,
        };
        let streams = [
            stream("192.0.2.1", "192.0.2.2"),
            stream("fd00::1", "fd00::2"),
            stream("192.0.2.1", "192.0.2.9"),
        ];
        let probe = Probe::start(&streams, ProbeLoad::REAL).unwrap();
        thread::sleep(Duration::from_secs(1));
        let before = probe.now();

        thread::sleep(Duration::from_millis(500));
        other.run("ip address del 192.0.2.2/24 dev far; ip -6 address del fd00::2/64 dev far");
        let cut = probe.now();
        thread::sleep(Duration::from_millis(400));
        other.run("ip address add 192.0.2.2/24 dev far; ip -6 address add fd00::2/64 dev far nodad");
        let healed = probe.now();
        thread::sleep(Duration::from_millis(400) + probe.delay());

        for stream in 0..2 {
            let (least, most) = (healed - cut - 30, healed - cut + 300);
            let seen = longest(&probe, stream, before);
            assert!((least..=most).contains(&seen), "{seen} is not {least} to {most}");
            assert_eq!(loss_intervals(&probe.since(stream, healed + 250)), []);
        }
        let lost = probe.since(2, before);
        assert!(lost.len() > 50 && lost.iter().all(|sample| !sample.answered));
        probe.forget(healed + 250);
        assert!(probe.since(0, 0).iter().all(|sample| sample.at >= healed + 250 && sample.answered));
        thread::sleep(probe.delay());
        assert_eq!(loss_intervals(&probe.since(0, healed + 250)), []);
        assert!(!probe.is_broken());
    }

    #[test]
    fn a_probe_that_cannot_start_reports_the_reason() {
        let network = TestNetns::new();

        let address: IpAddr = "fd00::1".parse().unwrap();
        let stream = |pid| ProbeStream { pid, source: address, to: address, frequent: true };

        let error = Probe::start(&[stream(network.pid())], ProbeLoad::REAL).unwrap_err();
        assert_eq!(error.to_string(), "cannot send from fd00::1");
        let error = Probe::start(&[stream(i32::MAX)], ProbeLoad::REAL).unwrap_err();
        assert_eq!(error.to_string(), "cannot enter the network namespace of process 2147483647");
    }
}

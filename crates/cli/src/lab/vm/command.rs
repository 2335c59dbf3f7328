//! Runs a command inside the virtual machine and connects its streams and signals to a port.
//!
//! One thread reads the port, one writes standard input to the command, and one per output stream forwards its output.
//! Standard input has flow control, so that signals arrive even if the command does not read it. The command is killed
//! when the client disconnects.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ichor_core::lab::vm_image::WRITTEN_FILES;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::frame::{self, CHUNK, FrameKind};
use super::request::CommandRequest;
use super::terminal::{self, PtyPair};

/// After a command exits, its streams are read until they are quiet for this long: a daemon may keep them open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Time limit for a command to exit after the client disconnected.
const END_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Prefix of variables that the virtual machine sets for every command.
const VM_VARIABLES: &str = "ICHOR_LAB_";

/// Runs a command, and returns once the client has disconnected.
pub(super) fn run(request: &CommandRequest, port: File) -> io::Result<()> {
    // Files of the host may have changed, but the kernel caches them.
    let _ = fs::write("/proc/sys/vm/drop_caches", "3");
    let input_port = port.try_clone()?;
    let sender = Arc::new(FrameSender(Mutex::new(Some(port))));
    match RunningCommand::start(request, &sender) {
        Ok(running) => running.forward_until_exit(request, input_port, &sender),
        Err(error) => {
            sender.send(FrameKind::Refused, error.to_string().as_bytes())?;
            io::copy(&mut &input_port, &mut io::sink()).map(drop)
        }
    }
}

/// Sends frames from several threads, until the exit code was sent.
struct FrameSender(Mutex<Option<File>>);

impl FrameSender {
    fn send(&self, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
        match &mut *lock(&self.0) {
            Some(port) => frame::send(port, kind, bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Process group of a command; none once its PID may be reused.
#[derive(Clone)]
struct ProcessGroup(Arc<Mutex<Option<Pid>>>);

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        if let Some(group) = *lock(&self.0) {
            let _ = killpg(group, signal);
        }
    }

    fn is_alive(&self) -> bool {
        lock(&self.0).is_some()
    }
}

/// A running command.
struct RunningCommand {
    child: Child,
    group: ProcessGroup,
    /// Controlling side of its pseudo-terminal.
    terminal: Option<File>,
    input: Sender<Vec<u8>>,
    /// Receives a message per output chunk; disconnected once all streams are closed.
    activity: Receiver<()>,
    /// Number of streams with a chunk in transit.
    forwarding: Arc<AtomicUsize>,
}

impl RunningCommand {
    fn start(request: &CommandRequest, sender: &Arc<FrameSender>) -> io::Result<Self> {
        let folder = Path::new(&request.folder);
        if !folder.is_dir() {
            return Err(io::Error::other(format!(
                "the folder {} does not exist inside the virtual machine, which has only the disks of this machine, \
                 and only what this user may read",
                folder.display()
            )));
        }
        let pty = request.terminal.contains(&true).then(|| PtyPair::open(request.size)).transpose()?;
        let mut command = command(request)?;
        command.current_dir(folder);
        let stream = |nth: usize| match &pty {
            Some(pty) if request.terminal[nth] => Ok(Stdio::from(pty.terminal.try_clone()?)),
            _ => io::Result::Ok(Stdio::piped()),
        };
        command.stdin(stream(0)?).stdout(stream(1)?).stderr(stream(2)?);
        let mut child = command.spawn().map_err(|error| {
            io::Error::other(format!("cannot run {}: {error}", program_name(&request.arguments)))
        })?;
        // Closes the last copy of the terminal's command side in this process.
        drop(command);
        let terminal = pty.map(|pty| pty.controller);
        let group = Pid::from_raw(child.id().cast_signed());
        let (notify, activity) = mpsc::sync_channel(1);
        let forwarder =
            OutputForwarder { sender: Arc::clone(sender), notify, forwarding: Arc::new(AtomicUsize::new(0)) };
        let forwarding = Arc::clone(&forwarder.forwarding);
        if let Some(out) = child.stdout.take() {
            forwarder.clone().forward(out, FrameKind::Output);
        }
        if let Some(err) = child.stderr.take() {
            forwarder.clone().forward(err, FrameKind::Error);
        }
        if let Some(terminal) = &terminal {
            let kind = if request.terminal[1] { FrameKind::Output } else { FrameKind::Error };
            forwarder.forward(terminal.try_clone()?, kind);
        }
        let to: Box<dyn Write + Send> = match (child.stdin.take(), &terminal) {
            (Some(pipe), _) => Box::new(pipe),
            (None, Some(terminal)) => Box::new(terminal.try_clone()?),
            (None, None) => Box::new(io::sink()),
        };
        let input = write_stdin(to, Arc::clone(sender));
        let group = ProcessGroup(Arc::new(Mutex::new(Some(group))));
        Ok(Self { child, group, terminal, input, activity, forwarding })
    }

    fn forward_until_exit(
        self,
        request: &CommandRequest,
        input_port: File,
        sender: &FrameSender,
    ) -> io::Result<()> {
        let Self { child, group, terminal, input, activity, forwarding } = self;
        let listener = receive_frames(input_port, group.clone(), terminal, input);
        let status = wait_for_exit(child, &group)?;
        while !(activity.recv_timeout(DRAIN_TIMEOUT).is_err() && forwarding.load(Ordering::SeqCst) == 0) {}
        let sent = send_written_files(&request.files, sender)
            .and_then(|()| sender.send(FrameKind::Exit, &[exit_code(status)]));
        lock(&sender.0).take();
        let _ = listener.join();
        sent
    }
}

/// Waits for the command to exit. Its PID may be reused once it is reaped, so the process group is cleared before.
fn wait_for_exit(mut child: Child, group: &ProcessGroup) -> io::Result<ExitStatus> {
    let pid = Pid::from_raw(child.id().cast_signed());
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(nix::Error::EINTR) {}
    lock(&group.0).take();
    child.wait()
}

/// Builds the command: with a terminal in its own session, so that it receives Ctrl-C.
fn command(request: &CommandRequest) -> io::Result<Command> {
    let [program, arguments @ ..] = &request.arguments[..] else {
        return Err(io::Error::other("an empty command"));
    };
    let mut command = if request.terminal[0] {
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program);
        command
    } else {
        let mut command = Command::new(program);
        command.process_group(0);
        command
    };
    let own = env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(VM_VARIABLES.as_bytes()));
    command.args(arguments).env_clear().envs(request.environment.iter().cloned()).envs(own);
    Ok(command)
}

fn program_name(arguments: &[std::ffi::OsString]) -> String {
    arguments.first().map(|program| program.display().to_string()).unwrap_or_default()
}

/// Exit code as in a shell.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Forwards an output stream.
#[derive(Clone)]
struct OutputForwarder {
    sender: Arc<FrameSender>,
    notify: SyncSender<()>,
    forwarding: Arc<AtomicUsize>,
}

impl OutputForwarder {
    fn forward(self, mut from: impl Read + Send + 'static, kind: FrameKind) {
        thread::spawn(move || {
            let mut buffer = vec![0; CHUNK];
            // Reading fails once the command side of the terminal is closed.
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                self.forwarding.fetch_add(1, Ordering::SeqCst);
                let sent = self.sender.send(kind, &buffer[..count]);
                self.forwarding.fetch_sub(1, Ordering::SeqCst);
                let _ = self.notify.try_send(());
                if sent.is_err() {
                    break;
                }
            }
        });
    }
}

/// Writes standard input to a command, and discards what the command does not read.
fn write_stdin(mut to: Box<dyn Write + Send>, sender: Arc<FrameSender>) -> Sender<Vec<u8>> {
    let (input, chunks) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        for chunk in chunks {
            if chunk.is_empty() {
                break;
            }
            if to.write_all(&chunk).is_err() {
                to = Box::new(io::sink());
            }
            let count = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
            let _ = sender.send(FrameKind::Taken, &count.to_be_bytes());
        }
    });
    input
}

/// Handles frames of the client until it disconnects.
fn receive_frames(
    input_port: File,
    group: ProcessGroup,
    terminal: Option<File>,
    input: Sender<Vec<u8>>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        while let Ok(Some(frame)) = frame::receive(&mut &input_port) {
            match frame.kind {
                FrameKind::Input => drop(input.send(frame.bytes)),
                FrameKind::Size => {
                    if let (Some(terminal), Ok([a, b, c, d])) = (&terminal, frame.number(0)) {
                        let _ = terminal::resize(
                            terminal,
                            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
                        );
                    }
                }
                FrameKind::Signal => {
                    let number = frame.number(0).map(|[number]: [u8; 1]| i32::from(number));
                    if let Some(signal) = number.ok().and_then(|number| Signal::try_from(number).ok()) {
                        group.signal(signal);
                    }
                }
                _ => break,
            }
        }
        group.signal(Signal::SIGHUP);
        let disconnected = Instant::now();
        while group.is_alive() && disconnected.elapsed() < END_TIMEOUT {
            thread::sleep(POLL_INTERVAL);
        }
        group.signal(Signal::SIGKILL);
    })
}

/// Sends the written files to the client and removes them here: otherwise they would hide the host's copies.
fn send_written_files(files: &[std::ffi::OsString], sender: &FrameSender) -> io::Result<()> {
    for (number, path) in (0_u8..).zip(files) {
        let path = Path::new(path);
        let written: PathBuf = Path::new(WRITTEN_FILES).join(path.strip_prefix("/").unwrap_or(path));
        // A removed file is a whiteout device in the overlay.
        let Some(meta) = fs::symlink_metadata(&written).ok().filter(|meta| meta.is_file()) else { continue };
        let mut file = File::open(&written)?;
        let mut chunk = vec![0; CHUNK];
        chunk[0] = number;
        loop {
            let count = file.read(&mut chunk[1..])?;
            if count == 0 {
                break;
            }
            sender.send(FrameKind::File, &chunk[..=count])?;
        }
        let mode = meta.permissions().mode() & 0o777;
        sender.send(FrameKind::FileEnd, &[&[number][..], &mode.to_be_bytes()].concat())?;
        fs::remove_file(path)?;
    }
    Ok(())
}

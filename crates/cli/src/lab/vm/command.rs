//! A command inside: started as the request says, with its streams and signals on the other end of a port.
//!
//! Threads do the work: one hears the port, one gives standard input to the command, and one for each of its streams reads what it says.
//! Standard input has a window, so that signals are heard while nobody reads it. When the other end is gone, so is the command.

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

use ichor_core::lab::kit::WRITTEN;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::frame::{self, CHUNK, FrameKind};
use super::request::CommandRequest;
use super::terminal::{self, PtyPair};

/// After its end, a command's streams are read on until nothing comes for so long: a daemon may have them open for ever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a command may take to end when nobody listens to it any more.
const END_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What begins so is told by the virtual machine to every command in it.
const VM_VARIABLES: &str = "ICHOR_LAB_";

/// Runs a command, and returns when the other end is gone.
pub(super) fn run(request: &CommandRequest, port: File) -> io::Result<()> {
    // Files outside may have changed, and the kernel would not look.
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

/// The way out, for several threads, until the command is told to have ended.
struct FrameSender(Mutex<Option<File>>);

impl FrameSender {
    fn send(&self, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
        match &mut *locked(&self.0) {
            Some(port) => frame::send(port, kind, bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The group of a command's processes, as long as it is its own.
#[derive(Clone)]
struct ProcessGroup(Arc<Mutex<Option<Pid>>>);

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        if let Some(group) = *locked(&self.0) {
            let _ = killpg(group, signal);
        }
    }

    fn is_alive(&self) -> bool {
        locked(&self.0).is_some()
    }
}

/// A command that was started.
struct RunningCommand {
    child: Child,
    group: ProcessGroup,
    /// Our end of its terminal.
    terminal: Option<File>,
    input: Sender<Vec<u8>>,
    /// Hears that something was said, and ends when nothing can be any more.
    said: Receiver<()>,
    /// How many streams are being told just now.
    forwarding: Arc<AtomicUsize>,
}

impl RunningCommand {
    fn start(request: &CommandRequest, sender: &Arc<FrameSender>) -> io::Result<Self> {
        let folder = Path::new(&request.folder);
        if !folder.is_dir() {
            return Err(io::Error::other(format!(
                "the folder {} is not there inside the virtual machine, which has what is on the disks of this one, and no more than its \
                 user may read",
                folder.display()
            )));
        }
        let pty = request.terminal.contains(&true).then(|| PtyPair::open(request.size)).transpose()?;
        let mut command = command(request)?;
        command.current_dir(folder);
        let stream = |nth: usize| match &pty {
            Some(pty) if request.terminal[nth] => Ok(Stdio::from(pty.theirs.try_clone()?)),
            _ => io::Result::Ok(Stdio::piped()),
        };
        command.stdin(stream(0)?).stdout(stream(1)?).stderr(stream(2)?);
        let mut child = command.spawn().map_err(|error| {
            io::Error::other(format!("cannot run {}: {error}", program_name(&request.words)))
        })?;
        // With the command goes the last hand on the terminal's other end.
        drop(command);
        let terminal = pty.map(|pty| pty.ours);
        let group = Pid::from_raw(child.id().cast_signed());
        let (activity, said) = mpsc::sync_channel(1);
        let forwarder = OutputForwarder {
            sender: Arc::clone(sender),
            activity,
            forwarding: Arc::new(AtomicUsize::new(0)),
        };
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
        Ok(Self { child, group, terminal, input, said, forwarding })
    }

    fn forward_until_exit(
        self,
        request: &CommandRequest,
        input_port: File,
        sender: &FrameSender,
    ) -> io::Result<()> {
        let Self { child, group, terminal, input, said, forwarding } = self;
        let listener = receive_frames(input_port, group.clone(), terminal, input);
        let status = wait_for_exit(child, &group)?;
        while !(said.recv_timeout(DRAIN_TIMEOUT).is_err() && forwarding.load(Ordering::SeqCst) == 0) {}
        let sent = send_written_files(&request.files, sender)
            .and_then(|()| sender.send(FrameKind::Exit, &[exit_code(status)]));
        locked(&sender.0).take();
        let _ = listener.join();
        sent
    }
}

/// Waits for its end. Its number may be somebody else's as soon as it was asked how it ended.
fn wait_for_exit(mut child: Child, group: &ProcessGroup) -> io::Result<ExitStatus> {
    let pid = Pid::from_raw(child.id().cast_signed());
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(nix::Error::EINTR) {}
    locked(&group.0).take();
    child.wait()
}

/// What starts the command: in a session of its own where it has a terminal, so that Ctrl-C there is for it.
fn command(request: &CommandRequest) -> io::Result<Command> {
    let [program, arguments @ ..] = &request.words[..] else {
        return Err(io::Error::other("a command without a word"));
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

fn program_name(words: &[std::ffi::OsString]) -> String {
    words.first().map(|word| word.display().to_string()).unwrap_or_default()
}

/// As a shell says it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Tells what a stream says.
#[derive(Clone)]
struct OutputForwarder {
    sender: Arc<FrameSender>,
    activity: SyncSender<()>,
    forwarding: Arc<AtomicUsize>,
}

impl OutputForwarder {
    fn forward(self, mut from: impl Read + Send + 'static, kind: FrameKind) {
        thread::spawn(move || {
            let mut buffer = vec![0; CHUNK];
            // A terminal without anybody at its other end is an error to read.
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                self.forwarding.fetch_add(1, Ordering::SeqCst);
                let sent = self.sender.send(kind, &buffer[..count]);
                self.forwarding.fetch_sub(1, Ordering::SeqCst);
                let _ = self.activity.try_send(());
                if sent.is_err() {
                    break;
                }
            }
        });
    }
}

/// Gives a command its standard input. What it does not want is taken all the same.
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

/// Hears what comes from outside, until nothing can any more.
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
        let left = Instant::now();
        while group.is_alive() && left.elapsed() < END_TIMEOUT {
            thread::sleep(POLL_INTERVAL);
        }
        group.signal(Signal::SIGKILL);
    })
}

/// Sends the files that were written, and forgets them: what is written outside in their place is seen by nobody here.
fn send_written_files(files: &[std::ffi::OsString], sender: &FrameSender) -> io::Result<()> {
    for (number, path) in (0_u8..).zip(files) {
        let path = Path::new(path);
        let written: PathBuf = Path::new(WRITTEN).join(path.strip_prefix("/").unwrap_or(path));
        // What was removed there is a device that says so.
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

//! The console inside the virtual machine: runs the commands of clients, one at a time per port.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::command;
use super::frame::{self, FrameKind, MARK};
use super::request::CommandRequest;
use ichor_values::format::FormatError;

/// Folder where the kernel lists ports with their names.
const PORTS: &str = "/sys/class/virtio-ports";

/// Delay before a failed port is opened again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Hint for an incompatible client.
const HINT: &str =
    "use the ichor release that started this lab, or restart it with `ichor lab down` and `ichor lab up`";

/// Errors of serving the ports.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsoleServeError {
    #[error("cannot list the ports in {PORTS}")]
    List(#[from] io::Error),
    #[error(
        "no port in {PORTS} has a name that begins with {}; run this inside the virtual machine of a lab",
        super::PORT
    )]
    None,
}

/// Serves all ports; returns only on errors.
pub(crate) fn serve() -> Result<Infallible, ConsoleServeError> {
    let ports = ports()?;
    let threads: Vec<_> = ports.into_iter().map(|port| thread::spawn(move || serve_port(&port))).collect();
    for thread in threads {
        let _ = thread.join();
    }
    Err(ConsoleServeError::None)
}

fn ports() -> io::Result<Vec<PathBuf>> {
    let mut ports = Vec::new();
    for entry in fs::read_dir(PORTS)? {
        let entry = entry?;
        if fs::read_to_string(entry.path().join("name"))?.starts_with(super::PORT) {
            ports.push(Path::new("/dev").join(entry.file_name()));
        }
    }
    Ok(ports)
}

fn serve_port(port: &Path) {
    loop {
        if let Err(error) = run_next_command(port) {
            let _ = writeln!(io::stderr(), "{}: {error}", port.display());
            thread::sleep(RETRY_DELAY);
        }
    }
}

/// Errors of a request.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("the first frame is not a request")]
    OtherFrame,
}

/// Waits for a command and runs it.
fn run_next_command(path: &Path) -> io::Result<()> {
    let port = File::options().read(true).write(true).open(path)?;
    // The write blocks until a client connects.
    (&port).write_all(&MARK)?;
    let Some(frame) = frame::receive(&mut &port)? else { return Ok(()) };
    let request = match frame.kind {
        FrameKind::Request => CommandRequest::parse(&frame.bytes).map_err(RequestError::from),
        _ => Err(RequestError::OtherFrame),
    };
    match request {
        Ok(request) => command::run(&request, port),
        Err(error) => {
            let refused = format!("the lab's virtual machine cannot parse the request: {error}; {HINT}");
            frame::send(&mut &port, FrameKind::Refused, refused.as_bytes())?;
            io::copy(&mut &port, &mut io::sink()).map(drop)
        }
    }
}

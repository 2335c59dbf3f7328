//! `lab capture`: record the packets on a cable.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use ichor_core::lab::pcap;

use super::LabSelection;
use crate::lab::capture::{Capture, CapturedPacket};
use crate::lab::signals::TerminationSignals;
use crate::lab::{Lab, switch};
use crate::style;

/// Interval of the check whether the lab still runs.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Record the packets on a cable for tcpdump and Wireshark
///
/// Every packet of both directions is recorded once, at the port that sends it, so that packets on a cut cable are recorded too. The
/// capture ends after --count packets, after --seconds, on Ctrl-C or when the lab ends. The file is valid at any time.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Name a cable by either end, as `cp1:fab0` or `leaf1:swp3`, and a network by its\nname. A node or router selects all of its cables. The file is pcapng with one\ninterface per port.\n\n\
                        Examples:\n  ichor lab capture cp1:fab0\n  ichor lab capture leaf1:swp3 -o bgp.pcapng --count 100\n  \
                        ichor lab capture cp1:fab0 -o - | tcpdump -nr -"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: LabSelection,
    /// Cable, network, node or router to record
    #[arg(value_name = "LINK|NODE")]
    link: String,
    /// File to write; - is standard output [default: LINK.pcapng]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Stop after N packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after N seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
}

impl Args {
    /// The file to write; `None` for standard output.
    fn path(&self) -> Option<PathBuf> {
        let default = || PathBuf::from(format!("{}.pcapng", self.link.replace(':', "-")));
        Some(self.out.clone().unwrap_or_else(default)).filter(|path| path != Path::new("-"))
    }

    /// The files that the command writes.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.path().into_iter().collect()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let ends = switch::find_ends(&lab, std::slice::from_ref(&args.link))?;
    let signals = TerminationSignals::catch()?;
    let capture = Capture::open(&lab, &ends).with_context(|| format!("cannot listen on {}", args.link))?;
    let (file, name) = open_output(args)?;
    style::say(&format!("listening on {}; stop with Ctrl-C", capture.names.join(", ")));
    let count =
        write_packets(args, &lab, capture, &signals, BufWriter::new(file)).with_context(|| name.clone())?;
    let packets = if count == 1 { "packet" } else { "packets" };
    style::say(&format!("{count} {packets} of {} in {name}", args.link));
    Ok(ExitCode::SUCCESS)
}

/// Opens the file to write to; returns it with its name.
fn open_output(args: &Args) -> anyhow::Result<(File, String)> {
    let Some(path) = args.path() else {
        if io::stdout().is_terminal() {
            bail!(
                "refusing to write packets to a terminal; use `-o FILE`, or a pipe: `-o - | tcpdump -nr -`"
            );
        }
        // Not through `anstream`, which would strip bytes that look like colour codes.
        return Ok((File::from(io::stdout().as_fd().try_clone_to_owned()?), "stdout".to_owned()));
    };
    let name = path.display().to_string();
    Ok((File::create(&path).with_context(|| format!("cannot write {name}"))?, name))
}

/// Writes packets until the capture ends; returns their number.
fn write_packets(
    args: &Args,
    lab: &Lab,
    mut capture: Capture,
    signals: &TerminationSignals,
    mut to: impl Write,
) -> io::Result<u64> {
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut count = 0;
    let is_wanted = |count: u64| args.count.is_none_or(|most| count < most);
    let written = (|| {
        to.write_all(&pcap::file_header(&capture.names))?;
        to.flush()?;
        let mut interrupted = false;
        while is_wanted(count) && !interrupted && lab.dir.is_alive() {
            let left = end.map_or(CHECK_INTERVAL, |end| {
                end.saturating_duration_since(Instant::now()).min(CHECK_INTERVAL)
            });
            if left.is_zero() {
                break;
            }
            // On a signal, packets that have already arrived are still written.
            interrupted = signals.received()?;
            let timeout = if interrupted { Duration::ZERO } else { left };
            for CapturedPacket { port, time, original_length, data } in capture.wait(signals, timeout)? {
                if is_wanted(count) {
                    to.write_all(&pcap::packet_block(port, time, original_length, &data))?;
                    count += 1;
                }
            }
            // Flushed, so that readers see packets immediately and the file is always valid.
            to.flush()?;
        }
        Ok(())
    })();
    match written {
        Err(error) if io::Error::kind(&error) == io::ErrorKind::BrokenPipe => Ok(count),
        Err(error) => Err(error),
        Ok(()) => Ok(count),
    }
}

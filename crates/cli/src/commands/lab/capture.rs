//! `lab capture`: keep what goes over a cable.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use ichor_core::lab::pcap;

use super::Which;
use crate::lab::capture::{Capture, Packet};
use crate::lab::signals::Signals;
use crate::lab::{Lab, hub};
use crate::style;

/// How often is looked whether the lab still lives.
const LOOK: Duration = Duration::from_secs(1);

/// Keep the packets on a cable, for tcpdump and Wireshark
///
/// Both directions, each packet once: where it comes from the machine that sent it, so that packets are kept which a cut cable
/// loses. Goes on until --count, --seconds, Ctrl-C or the end of the lab; the file is whole at any time.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A cable is called by either of its ends, as `cp1:fab0` or `leaf1:swp3`; a network by its name; a node or router stands \
                        for all its cables. The file is pcapng: it tells of each packet which port sent it.\n\n\
                        Examples:\n  ichor lab capture cp1:fab0\n  ichor lab capture leaf1:swp3 -o bgp.pcapng --count 100\n  \
                        ichor lab capture cp1:fab0 -o - | tcpdump -nr -"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) which: Which,
    /// The cable
    link: String,
    /// File to write, `-` for stdout; named after the cable when left out
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// End after so many packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after so many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
}

impl Args {
    /// Where packets go; none for stdout.
    fn path(&self) -> Option<PathBuf> {
        let usual = || PathBuf::from(format!("{}.pcapng", self.link.replace(':', "-")));
        Some(self.out.clone().unwrap_or_else(usual)).filter(|path| path != Path::new("-"))
    }

    /// The files that it writes.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.path().into_iter().collect()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(args.which.lab.as_deref())?;
    let ends = hub::called(&lab, std::slice::from_ref(&args.link))?;
    let signals = Signals::catch()?;
    let capture = Capture::open(&lab, &ends).with_context(|| format!("cannot listen on {}", args.link))?;
    let (file, name) = open(args)?;
    style::say(&format!("listening on {}; Ctrl-C ends it", capture.names.join(", ")));
    let count = keep(args, &lab, capture, &signals, BufWriter::new(file)).with_context(|| name.clone())?;
    let packets = if count == 1 { "packet" } else { "packets" };
    style::say(&format!("{count} {packets} of {} in {name}", args.link));
    Ok(ExitCode::SUCCESS)
}

/// The file to write to, and what it is called.
fn open(args: &Args) -> anyhow::Result<(File, String)> {
    let Some(path) = args.path() else {
        if io::stdout().is_terminal() {
            bail!("packets are not for a terminal; write `-o FILE`, or pipe them: `-o - | tcpdump -nr -`");
        }
        // Not through the stream for people, which takes colours out of what it is given.
        return Ok((File::from(io::stdout().as_fd().try_clone_to_owned()?), "stdout".to_owned()));
    };
    let name = path.display().to_string();
    Ok((File::create(&path).with_context(|| format!("cannot write {name}"))?, name))
}

/// Writes packets until it is time to end, and counts them.
fn keep(
    args: &Args,
    lab: &Lab,
    mut capture: Capture,
    signals: &Signals,
    mut to: impl Write,
) -> io::Result<u64> {
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut count = 0;
    let wanted = |count: u64| args.count.is_none_or(|most| count < most);
    let written = (|| {
        to.write_all(&pcap::start(&capture.names))?;
        to.flush()?;
        let mut asked = false;
        while wanted(count) && !asked && lab.place.is_alive() {
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()).min(LOOK));
            if left.is_zero() {
                break;
            }
            // Asked to end, it takes what had come until then.
            asked = signals.came()?;
            let patience = if asked { Duration::ZERO } else { left };
            for Packet { port, time, whole, kept } in capture.wait(signals, patience)? {
                if wanted(count) {
                    to.write_all(&pcap::packet(port, time, whole, &kept))?;
                    count += 1;
                }
            }
            // Whoever reads sees packets when they come, and the file is whole whatever happens.
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

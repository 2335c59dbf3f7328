//! The live display of `ichor up` on a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::simulated::Simulated;

/// `ichor up` on a pseudo-terminal.
struct Live {
    up: Child,
    terminal: File,
    /// The program's side of the terminal, to inspect it afterwards.
    inside: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Live {
    fn start(nodes: &Simulated, columns: u16, more: &str) -> Self {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&outside).unwrap();
        unlockpt(&outside).unwrap();
        let name = ptsname(&outside, Vec::new()).unwrap();
        let inside = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        resize(&outside, columns);
        let ichor = nodes.command(more);
        // A new session with this controlling terminal, so that it receives Ctrl-C.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(ichor.get_program()).args(ichor.get_args());
        command.current_dir(nodes.folder()).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        let end = || inside.try_clone().unwrap();
        let up = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let terminal = File::from(outside);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut from, to) = (terminal.try_clone().unwrap(), Arc::clone(&shown));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                to.lock().unwrap().extend_from_slice(&bytes[..length]);
            }
        });
        Self { up, terminal, inside, shown }
    }

    fn resize(&self, columns: u16) {
        resize(&OwnedFd::from(self.terminal.try_clone().unwrap()), columns);
    }

    /// Output lines from an offset on, without escape sequences.
    fn lines(&self, from: usize) -> Vec<String> {
        let bytes = self.shown.lock().unwrap()[from..].to_vec();
        let text = anstream::adapter::strip_bytes(&bytes).into_vec();
        let text = String::from_utf8_lossy(&text).into_owned();
        text.split(['\r', '\n'])
            .map(|line| line.trim_end().to_owned())
            .filter(|line| !line.is_empty())
            .collect()
    }

    /// Length of the output.
    fn length(&self) -> usize {
        self.shown.lock().unwrap().len()
    }

    /// Waits until a line from an offset on contains this text.
    fn shows(&self, from: usize, words: &str) {
        let end = Instant::now() + Duration::from_mins(1);
        while !self.lines(from).iter().any(|line| line.contains(words)) {
            assert!(Instant::now() < end, "no `{words}`: {:#?}", self.lines(from));
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.up.kill();
        let _ = self.up.wait();
    }
}

fn resize(terminal: &OwnedFd, columns: u16) {
    tcsetwinsize(terminal, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

/// Whether every row fills exactly one line, so that the summary starts on its own line; there must be a summary.
fn fits(lines: &[String], columns: usize) -> bool {
    let sums =
        lines.iter().filter_map(|line| Some(line[..line.find("4 of 5 nodes are up")?].chars().count()));
    let sums: Vec<usize> = sums.collect();
    !sums.is_empty() && sums.iter().all(|before| before % columns == 0)
}

#[test]
fn the_live_display_shows_waits_and_restores_the_terminal_after_ctrl_c() {
    for columns in [80, 120] {
        let nodes = Simulated::start(5, "--fault worker1:late-reboot:600s");
        let mut live = Live::start(&nodes, columns, "");
        let before = format!("{:?}", tcgetattr(&live.inside).unwrap());

        live.shows(0, "4 of 5 nodes are up");
        live.shows(0, "  worker1  waiting for the machine to boot the installed system");
        let wide = live.lines(0);
        live.resize(60);
        thread::sleep(Duration::from_millis(600));
        let from = live.length();
        live.shows(from, "4 of 5 nodes are up");
        let narrow = live.lines(from);
        live.terminal.write_all(b"\x03").unwrap();
        live.shows(from, "run `ichor up` again to resume");
        let ended = live.up.wait().unwrap();

        assert!(fits(&wide, usize::from(columns)), "{wide:#?}");
        assert!(fits(&narrow, 60), "{narrow:#?}");
        assert!(wide.iter().any(|line| line.contains("cp1: apply done")), "{wide:#?}");
        assert_eq!(ended.code(), Some(1));
        assert_eq!(format!("{:?}", tcgetattr(&live.inside).unwrap()), before);
        let all = String::from_utf8_lossy(&live.shown.lock().unwrap()).into_owned();
        assert!(all.rfind("\x1b[?25l") <= all.rfind("\x1b[?25h"), "the cursor is visible");
    }
}

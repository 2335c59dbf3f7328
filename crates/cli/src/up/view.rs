//! What a terminal shows of a bring-up, below the lines that are told: a row for each node that something is waited for, and how far
//! all of it is.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rustix::termios::tcgetwinsize;

/// How many lines of the terminal are left to what is told.
const TOLD: usize = 6;
/// The most rows: more nobody reads.
const ROWS: usize = 24;
/// How high a terminal is that does not say.
const USUAL: usize = 24;

/// The view; nothing is shown before there is something to show.
pub(super) struct View {
    screen: MultiProgress,
    /// Rows that are shown.
    rows: BTreeMap<String, ProgressBar>,
    /// What every node does, and since when.
    doing: BTreeMap<String, (String, Instant)>,
    /// How far all of it is.
    sum: Option<ProgressBar>,
    said: String,
    /// As long as the longest name.
    width: usize,
}

impl View {
    pub(super) fn new() -> Self {
        Self {
            screen: MultiProgress::new(),
            rows: BTreeMap::new(),
            doing: BTreeMap::new(),
            sum: None,
            said: String::new(),
            width: 0,
        }
    }

    /// Whether something is shown.
    pub(super) fn shows(&self) -> bool {
        self.sum.is_some()
    }

    /// Says a line above the rows.
    pub(super) fn say(&self, line: &str) {
        let _ = self.screen.println(line);
    }

    /// What a node does now; nothing where it is done.
    pub(super) fn doing(&mut self, node: &str, what: Option<&str>) {
        match what {
            None => {
                self.doing.remove(node);
                if let Some(row) = self.rows.remove(node) {
                    row.finish_and_clear();
                    self.screen.remove(&row);
                }
            }
            Some(what) => {
                let new = || (String::new(), Instant::now());
                what.clone_into(&mut self.doing.entry(node.to_owned()).or_insert_with(new).0);
                self.width = self.width.max(node.len());
            }
        }
        self.arrange();
    }

    /// How far all of it is.
    pub(super) fn sum(&mut self, text: String) {
        self.said = text;
        self.arrange();
    }

    /// Brings the rows to what nodes do, as many as there is room for.
    fn arrange(&mut self) {
        let sum = self.sum.get_or_insert_with(|| self.screen.add(bar("{wide_msg} {elapsed:>6}")));
        let room = height().saturating_sub(TOLD).clamp(1, ROWS);
        for (node, (what, since)) in &self.doing {
            let row = match self.rows.get(node) {
                Some(row) => row,
                None if self.rows.len() < room => {
                    let row = bar("  {prefix}  {wide_msg} {elapsed:>6}").with_elapsed(since.elapsed());
                    let row = self.screen.insert_before(sum, row);
                    self.rows.entry(node.clone()).or_insert(row)
                }
                None => continue,
            };
            let name = format!("{node:width$}", width = self.width);
            if row.prefix() != name {
                row.set_prefix(name);
            }
            if row.message() != *what {
                row.set_message(what.clone());
            }
        }
        let more = self.doing.len().saturating_sub(self.rows.len());
        let hidden = if more > 0 { format!("  (and {more} more at work)") } else { String::new() };
        sum.set_message(format!("{}{hidden}", self.said));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.rows.values().for_each(ProgressBar::finish_and_clear);
        self.sum.iter().for_each(ProgressBar::finish_and_clear);
    }
}

fn height() -> usize {
    let rows = tcgetwinsize(std::io::stderr()).map_or(0, |size| usize::from(size.ws_row));
    if rows == 0 { USUAL } else { rows }
}

fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template(template).expect("one of those above"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

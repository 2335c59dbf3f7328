//! Live display of a bring-up on a terminal, below the printed lines: a row per active node, and a summary line.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rustix::termios::tcgetwinsize;

/// Terminal lines reserved for messages.
const MESSAGE_LINES: usize = 6;
/// Maximum number of rows.
const MAX_ROWS: usize = 24;
/// Height of a terminal of unknown size.
const DEFAULT_HEIGHT: usize = 24;

/// The live display; hidden until there is content.
pub(super) struct BringupDisplay {
    screen: MultiProgress,
    /// Visible rows by node.
    rows: BTreeMap<String, ProgressBar>,
    /// Activity of every node, and its start.
    activities: BTreeMap<String, (String, Instant)>,
    /// Summary line.
    summary: Option<ProgressBar>,
    summary_text: String,
    /// Width of the longest node name.
    width: usize,
}

impl BringupDisplay {
    pub(super) fn new() -> Self {
        Self {
            screen: MultiProgress::new(),
            rows: BTreeMap::new(),
            activities: BTreeMap::new(),
            summary: None,
            summary_text: String::new(),
            width: 0,
        }
    }

    /// Whether the display is visible.
    pub(super) fn is_visible(&self) -> bool {
        self.summary.is_some()
    }

    /// Prints a line above the rows.
    pub(super) fn print_line(&self, line: &str) {
        let _ = self.screen.println(line);
    }

    /// Sets the activity of a node; none removes its row.
    pub(super) fn set_activity(&mut self, node: &str, activity: Option<&str>) {
        match activity {
            None => {
                self.activities.remove(node);
                if let Some(row) = self.rows.remove(node) {
                    row.finish_and_clear();
                    self.screen.remove(&row);
                }
            }
            Some(activity) => {
                let new = || (String::new(), Instant::now());
                activity.clone_into(&mut self.activities.entry(node.to_owned()).or_insert_with(new).0);
                self.width = self.width.max(node.len());
            }
        }
        self.arrange();
    }

    /// Summary line.
    pub(super) fn set_summary(&mut self, text: String) {
        self.summary_text = text;
        self.arrange();
    }

    /// Updates the rows, as many as fit.
    fn arrange(&mut self) {
        let summary = self.summary.get_or_insert_with(|| self.screen.add(bar("{wide_msg} {elapsed:>6}")));
        let room = height().saturating_sub(MESSAGE_LINES).clamp(1, MAX_ROWS);
        for (node, (activity, since)) in &self.activities {
            let row = match self.rows.get(node) {
                Some(row) => row,
                None if self.rows.len() < room => {
                    let row = bar("  {prefix}  {wide_msg} {elapsed:>6}").with_elapsed(since.elapsed());
                    let row = self.screen.insert_before(summary, row);
                    self.rows.entry(node.clone()).or_insert(row)
                }
                None => continue,
            };
            let name = format!("{node:width$}", width = self.width);
            if row.prefix() != name {
                row.set_prefix(name);
            }
            if row.message() != *activity {
                row.set_message(activity.clone());
            }
        }
        let more = self.activities.len().saturating_sub(self.rows.len());
        let hidden = if more > 0 { format!("  (and {more} more active)") } else { String::new() };
        summary.set_message(format!("{}{hidden}", self.summary_text));
    }
}

impl Drop for BringupDisplay {
    fn drop(&mut self) {
        self.rows.values().for_each(ProgressBar::finish_and_clear);
        self.summary.iter().for_each(ProgressBar::finish_and_clear);
    }
}

fn height() -> usize {
    let rows = tcgetwinsize(std::io::stderr()).map_or(0, |size| usize::from(size.ws_row));
    if rows == 0 { DEFAULT_HEIGHT } else { rows }
}

fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template(template).expect("templates are constants"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

//! A line that says that work goes on, for whoever sits in front of a terminal.

use std::borrow::Cow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A line until it is dropped; nothing where nobody looks.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Says `what`, and counts seconds.
    pub(crate) fn start(what: &'static str) -> Self {
        Self::shown(ProgressBar::new_spinner(), "{msg} … {elapsed}", what)
    }

    /// Says `what`, and counts the steps of `total`.
    pub(crate) fn count(what: &'static str, total: usize) -> Self {
        Self::shown(ProgressBar::new(total as u64), "{msg}  {bar:24}  {human_pos} of {human_len}", what)
    }

    /// Says `what`, and counts the bytes of `total`.
    pub(crate) fn bytes(what: &str, total: u64) -> Self {
        let template = "{msg}  {bar:24}  {binary_bytes} of {binary_total_bytes}  {eta} left";
        Self::shown(ProgressBar::new(total), template, what.to_owned())
    }

    /// Says nothing.
    pub(crate) fn none() -> Self {
        Self(ProgressBar::hidden())
    }

    fn shown(bar: ProgressBar, template: &str, what: impl Into<Cow<'static, str>>) -> Self {
        let style = ProgressStyle::with_template(template).expect("one of those above");
        bar.set_style(style);
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// So many more are done.
    pub(crate) fn steps(&self, count: u64) {
        self.0.inc(count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

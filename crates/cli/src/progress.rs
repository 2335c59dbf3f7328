//! Progress lines on a terminal.

use std::borrow::Cow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A progress line that is removed on drop; hidden unless stderr is a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Shows `what` and the elapsed time.
    pub(crate) fn start(what: &'static str) -> Self {
        Self::show(ProgressBar::new_spinner(), "{msg} … {elapsed}", what)
    }

    /// Shows `what` and the number of finished steps.
    pub(crate) fn count(what: &'static str, total: usize) -> Self {
        Self::show(ProgressBar::new(total as u64), "{msg}  {bar:24}  {human_pos} of {human_len}", what)
    }

    /// Shows `what` and the number of transferred bytes.
    pub(crate) fn bytes(what: &str, total: u64) -> Self {
        let template = "{msg}  {bar:24}  {binary_bytes} of {binary_total_bytes}  {eta} left";
        Self::show(ProgressBar::new(total), template, what.to_owned())
    }

    /// Shows nothing.
    pub(crate) fn none() -> Self {
        Self(ProgressBar::hidden())
    }

    fn show(bar: ProgressBar, template: &str, what: impl Into<Cow<'static, str>>) -> Self {
        let style = ProgressStyle::with_template(template).expect("the templates are constants");
        bar.set_style(style);
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Counts one step.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// Counts several steps.
    pub(crate) fn steps(&self, count: u64) {
        self.0.inc(count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

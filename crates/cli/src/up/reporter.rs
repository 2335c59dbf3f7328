//! Progress output of `up`, `upgrade`, `reset` and `down`: JSON events, lines, or lines above a live display.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use ichor_core::bringup::{Blocker, NodeAddress};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::display::BringupDisplay;
use crate::{report, style};

/// State of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepState {
    /// The step starts.
    #[serde(rename = "started")]
    Begun,
    /// The step is done.
    Done,
    /// The step will be retried.
    #[serde(rename = "retrying")]
    Again,
    /// The step failed permanently.
    Failed,
}

/// Prints events.
pub(crate) struct Reporter {
    start: Instant,
    mode: OutputMode,
}

enum OutputMode {
    Json,
    Lines,
    Live(BringupDisplay),
}

impl Reporter {
    /// Creates a reporter for JSON, or for people: with a live display on a terminal.
    pub(crate) fn new(json: bool) -> Self {
        let mode = if json {
            OutputMode::Json
        } else if io::stderr().is_terminal() {
            OutputMode::Live(BringupDisplay::new())
        } else {
            OutputMode::Lines
        };
        Self { start: Instant::now(), mode }
    }

    /// Creates a JSON reporter with an earlier start time.
    pub(crate) fn json_since(start: Instant) -> Self {
        Self { start, mode: OutputMode::Json }
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Emits an event with its fields as JSON, or `line` for people.
    pub(crate) fn emit(&self, name: &str, fields: Value, line: Option<String>) {
        let elapsed = self.elapsed().as_secs_f64();
        match &self.mode {
            OutputMode::Json => {
                let mut event = Map::new();
                event.insert("time".to_owned(), json!(ichor_system::now()));
                event.insert("elapsed_seconds".to_owned(), json!((elapsed * 1000.0).round() / 1000.0));
                event.insert("event".to_owned(), json!(name));
                if let Value::Object(fields) = fields {
                    event.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
                }
                // A closed pipe must not stop the bring-up.
                let mut out = io::stdout().lock();
                let _ = writeln!(out, "{}", Value::Object(event)).and_then(|()| out.flush());
            }
            OutputMode::Lines => {
                if let Some(line) = line {
                    style::say(&format!("{}{elapsed:8.1} s{:#}  {line}", style::DIM, style::DIM));
                }
            }
            OutputMode::Live(view) => {
                if let Some(line) = line {
                    view.print_line(&format!("{}{elapsed:8.1} s{:#}  {line}", style::DIM, style::DIM));
                }
            }
        }
    }

    /// Reports a step of a node, or of the cluster.
    pub(crate) fn report_step(
        &self,
        node: Option<&str>,
        step: &str,
        state: StepState,
        at: Option<NodeAddress>,
        message: &str,
    ) {
        let fields = json!({
            "node": node,
            "step": step,
            "state": state,
            "address": at.map(|at| at.address),
            "address_stage": at.map(|at| at.stage),
            "message": (!message.is_empty()).then_some(message),
        });
        let location = at.map(|at| format!(" at {at}")).unwrap_or_default();
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        let who = node.unwrap_or("cluster");
        let line = match state {
            StepState::Begun if self.is_live() => None,
            StepState::Begun => Some(format!("{who}: {step}{location}")),
            StepState::Done => Some(format!("{}{who}: {step} done{:#}{message}", style::GOOD, style::GOOD)),
            StepState::Again => Some(format!("{who}: {step} will be retried{message}")),
            StepState::Failed => {
                Some(format!("{}{who}: {step} failed{:#}{message}", style::ERROR, style::ERROR))
            }
        };
        self.emit("step", fields, line);
    }

    /// Reports that ichor gives up on a node, or on the cluster.
    pub(super) fn report_refusal(&self, node: Option<&str>, blocker: &Blocker) {
        let fields = report::refused_json(node, blocker);
        let who = node.unwrap_or("cluster");
        let (error, bold) = (style::ERROR, style::BOLD);
        let line = format!(
            "{error}error:{error:#} {bold}{who}{bold:#} {}\n  hint: {}",
            blocker.issue.headline(),
            blocker.remedy()
        );
        self.emit("refused", fields, Some(line));
    }

    /// Sets the current activity of a node; none when it is finished.
    pub(super) fn set_activity(&mut self, node: &str, what: Option<&str>) {
        if let OutputMode::Live(view) = &mut self.mode {
            view.set_activity(node, what);
        }
    }

    /// Sets the summary line.
    pub(super) fn set_summary(&mut self, text: String) {
        if let OutputMode::Live(view) = &mut self.mode {
            view.set_summary(text);
        }
    }

    /// Whether the live display shows activities, so that lines need not repeat them.
    pub(super) fn is_live(&self) -> bool {
        matches!(&self.mode, OutputMode::Live(view) if view.is_visible())
    }
}

//! What is told while a cluster comes up: events as JSON, lines, or lines below which a terminal shows who is at work.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use ichor_core::bringup::{Blocker, Contact};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::view::View;
use crate::{report, style};

/// How a step is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// It is about to be done.
    Begun,
    /// It is done.
    Done,
    /// It will be tried again.
    Again,
    /// It will not be done.
    Failed,
}

/// Tells.
pub(crate) struct Teller {
    start: Instant,
    way: Way,
}

enum Way {
    Json,
    Lines,
    Live(View),
}

impl Teller {
    /// As JSON, or for people: at a terminal with a view of what goes on.
    pub(crate) fn new(json: bool) -> Self {
        let way = if json {
            Way::Json
        } else if io::stderr().is_terminal() {
            Way::Live(View::new())
        } else {
            Way::Lines
        };
        Self { start: Instant::now(), way }
    }

    /// As JSON, for what began earlier.
    pub(crate) fn json_since(start: Instant) -> Self {
        Self { start, way: Way::Json }
    }

    /// How long it goes on.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// An event with more of it; people are told `line`.
    pub(crate) fn event(&self, name: &str, more: Value, line: Option<String>) {
        let elapsed = self.elapsed().as_secs_f64();
        match &self.way {
            Way::Json => {
                let mut event = Map::new();
                event.insert("time".to_owned(), json!(ichor_system::now()));
                event.insert("elapsed".to_owned(), json!((elapsed * 1000.0).round() / 1000.0));
                event.insert("event".to_owned(), json!(name));
                if let Value::Object(more) = more {
                    event.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
                }
                // Whoever reads may stop reading: the cluster comes up all the same.
                let mut out = io::stdout().lock();
                let _ = writeln!(out, "{}", Value::Object(event)).and_then(|()| out.flush());
            }
            Way::Lines => {
                if let Some(line) = line {
                    style::say(&format!("{}{elapsed:8.1} s{:#}  {line}", style::DIM, style::DIM));
                }
            }
            Way::Live(view) => {
                if let Some(line) = line {
                    view.say(&format!("{}{elapsed:8.1} s{:#}  {line}", style::DIM, style::DIM));
                }
            }
        }
    }

    /// A step of a node, or of the cluster where there is none.
    pub(crate) fn step(&self, node: Option<&str>, step: &str, state: State, at: Option<Contact>, said: &str) {
        let more = json!({
            "node": node,
            "step": step,
            "state": state,
            "address": at.map(|at| at.address),
            "stage": at.map(|at| at.stage),
            "said": (!said.is_empty()).then_some(said),
        });
        let place = at.map(|at| format!(" at {at}")).unwrap_or_default();
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let who = node.unwrap_or("cluster");
        let line = match state {
            State::Begun if self.is_live() => None,
            State::Begun => Some(format!("{who}: {step}{place}")),
            State::Done => Some(format!("{}{who}: {step} done{:#}{said}", style::GOOD, style::GOOD)),
            State::Again => Some(format!("{who}: {step} not yet{said}")),
            State::Failed => Some(format!("{}{who}: {step} failed{:#}{said}", style::ERROR, style::ERROR)),
        };
        self.event("step", more, line);
    }

    /// That nothing more is done with a node, or the cluster.
    pub(super) fn refused(&self, node: Option<&str>, blocker: &Blocker) {
        let more = report::refused_json(node, blocker);
        let who = node.unwrap_or("cluster");
        let (error, bold) = (style::ERROR, style::BOLD);
        let line = format!(
            "{error}error:{error:#} {bold}{who}{bold:#} {}\n  hint: {}",
            blocker.issue.headline(),
            blocker.remedy()
        );
        self.event("refused", more, Some(line));
    }

    /// What a node is doing now; nothing where it is done.
    pub(super) fn doing(&mut self, node: &str, what: Option<&str>) {
        if let Way::Live(view) = &mut self.way {
            view.doing(node, what);
        }
    }

    /// How far all of it is.
    pub(super) fn sum(&mut self, text: String) {
        if let Way::Live(view) = &mut self.way {
            view.sum(text);
        }
    }

    /// Whether a terminal shows what nodes are doing, so that it need not be told in lines.
    pub(super) fn is_live(&self) -> bool {
        matches!(&self.way, Way::Live(view) if view.shows())
    }
}

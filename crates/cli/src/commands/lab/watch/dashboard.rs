//! State of the dashboard, and its key bindings.

use std::collections::VecDeque;

use ichor_core::lab::status::{ChangeTone, CutCable, StatusChange, changes};
use ichor_core::lab::{LabStatus, LabTopology};
use ichor_values::Moment;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Maximum number of log lines.
const LOG: usize = 200;
/// Maximum number of values in the sparkline.
const HISTORY: usize = 300;
/// Number of rows of a page.
const PAGE: usize = 5;

/// State of the dashboard.
pub(super) struct Dashboard {
    pub name: String,
    /// Cables with their ends.
    pub links: Vec<CableEntry>,
    pub selected: usize,
    /// Number of table rows above the visible part.
    pub above: usize,
    /// Latest status; none before the first collection.
    pub view: Option<LabStatus>,
    /// Events, the latest last.
    pub log: VecDeque<(Option<Moment>, StatusChange)>,
    /// Number of established sessions at each collection.
    pub history: VecDeque<u64>,
}

/// A cable.
pub(super) struct CableEntry {
    pub name: String,
    pub ends: String,
    ports: Vec<String>,
}

/// Action of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyAction {
    None,
    Quit,
    Cut { link: String, silent: bool },
    Heal { link: String },
}

impl Dashboard {
    /// Creates a dashboard without a status.
    pub(super) fn new(name: &str, topology: &LabTopology) -> Self {
        let link = |cable: &ichor_core::lab::topology::LabCable| {
            let ports: Vec<String> = cable.ends.iter().map(|plug| topology.cable_end_name(*plug)).collect();
            let ends = match ports.as_slice() {
                [one, other] => format!("{one} – {other}"),
                many => format!("{} ({} ends)", cable.name, many.len()),
            };
            CableEntry { name: cable.name.clone(), ends, ports }
        };
        Self {
            name: name.to_owned(),
            links: topology.cables.iter().map(link).collect(),
            selected: 0,
            above: 0,
            view: None,
            log: VecDeque::new(),
            history: VecDeque::new(),
        }
    }

    /// Updates the status, and logs the changes.
    pub(super) fn update(&mut self, view: LabStatus) {
        let changes = self.view.as_ref().map(|before| changes(before, &view)).unwrap_or_default();
        for change in changes {
            self.log(Some(view.time), change);
        }
        self.history.push_back(view.session_counts().0 as u64);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
        self.view = Some(view);
    }

    /// Logs an error of the dashboard itself.
    pub(super) fn log_error(&mut self, words: String) {
        let time = self.view.as_ref().map(|view| view.time);
        self.log(time, StatusChange { mood: ChangeTone::Bad, words });
    }

    fn log(&mut self, time: Option<Moment>, change: StatusChange) {
        self.log.push_back((time, change));
        if self.log.len() > LOG {
            self.log.pop_front();
        }
    }

    /// Whether every expected session is established.
    pub(super) fn is_healthy(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.ok)
    }

    /// How a cable is cut, if it is. A network counts as cut if any of its ports is.
    pub(super) fn cut(&self, link: &CableEntry) -> Option<&CutCable> {
        let cuts = &self.view.as_ref()?.cut;
        cuts.iter().find(|cut| cut.link == link.name || link.ports.contains(&cut.link))
    }

    /// Handles a key; returns the action that the caller must perform.
    pub(super) fn handle_key(&mut self, key: KeyEvent) -> KeyAction {
        let link = || self.links.get(self.selected).map(|link| link.name.clone());
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if ctrl => return KeyAction::Quit,
            KeyCode::Char('q') | KeyCode::Esc => return KeyAction::Quit,
            KeyCode::Char(letter @ ('c' | 's')) => {
                return link().map_or(KeyAction::None, |link| KeyAction::Cut { link, silent: letter == 's' });
            }
            KeyCode::Char('h') => return link().map_or(KeyAction::None, |link| KeyAction::Heal { link }),
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => self.selected = (self.selected + 1).min(self.links.len().saturating_sub(1)),
            KeyCode::PageUp => self.above = self.above.saturating_sub(PAGE),
            KeyCode::PageDown => self.above += PAGE,
            _ => {}
        }
        KeyAction::None
    }
}

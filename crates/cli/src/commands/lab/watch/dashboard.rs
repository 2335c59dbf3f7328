//! What a dashboard shows, and what keys do to it.

use std::collections::VecDeque;

use ichor_core::lab::view::{ChangeTone, CutCable, StatusChange, changes};
use ichor_core::lab::{LabStatus, LabTopology};
use ichor_values::Moment;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How many lines of the log are kept.
const LOG: usize = 200;
/// How many looks the sparkline remembers.
const HISTORY: usize = 300;
/// How far a page is.
const PAGE: usize = 5;

/// All that is shown.
pub(super) struct Dashboard {
    pub name: String,
    /// The cables: what they are called, and their ends.
    pub links: Vec<CableEntry>,
    pub selected: usize,
    /// How many rows of the tables are above the screen.
    pub above: usize,
    /// The latest view; none before the first look is done.
    pub view: Option<LabStatus>,
    /// What happened, the latest last.
    pub log: VecDeque<(Option<Moment>, StatusChange)>,
    /// How many sessions stood at each look.
    pub history: VecDeque<u64>,
}

/// A cable.
pub(super) struct CableEntry {
    pub name: String,
    pub ends: String,
    plugs: Vec<String>,
}

/// What a key asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyAction {
    None,
    Quit,
    Cut { link: String, silent: bool },
    Heal { link: String },
}

impl Dashboard {
    /// A board that has seen nothing.
    pub(super) fn new(name: &str, scene: &LabTopology) -> Self {
        let link = |cable: &ichor_core::lab::scene::LabCable| {
            let plugs: Vec<String> = cable.ends.iter().map(|plug| scene.plug(*plug)).collect();
            let ends = match plugs.as_slice() {
                [one, other] => format!("{one} – {other}"),
                many => format!("{} ({} ends)", cable.name, many.len()),
            };
            CableEntry { name: cable.name.clone(), ends, plugs }
        };
        Self {
            name: name.to_owned(),
            links: scene.cables.iter().map(link).collect(),
            selected: 0,
            above: 0,
            view: None,
            log: VecDeque::new(),
            history: VecDeque::new(),
        }
    }

    /// Takes what was seen, and notes what is new about it.
    pub(super) fn take(&mut self, view: LabStatus) {
        let news = self.view.as_ref().map(|before| changes(before, &view)).unwrap_or_default();
        for change in news {
            self.log(Some(view.time), change);
        }
        self.history.push_back(view.standing().0 as u64);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
        self.view = Some(view);
    }

    /// Notes something that nobody saw in the lab.
    pub(super) fn note(&mut self, words: String) {
        let time = self.view.as_ref().map(|view| view.time);
        self.log(time, StatusChange { mood: ChangeTone::Bad, words });
    }

    fn log(&mut self, time: Option<Moment>, change: StatusChange) {
        self.log.push_back((time, change));
        if self.log.len() > LOG {
            self.log.pop_front();
        }
    }

    /// Whether all stood at last.
    pub(super) fn stands(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.stands)
    }

    /// How a cable is cut; none while it carries. Of a network, one plug that is out is enough.
    pub(super) fn cut(&self, link: &CableEntry) -> Option<&CutCable> {
        let cuts = &self.view.as_ref()?.cut;
        cuts.iter().find(|cut| cut.link == link.name || link.plugs.contains(&cut.link))
    }

    /// Does what a key means here, and says what it means elsewhere.
    pub(super) fn key(&mut self, key: KeyEvent) -> KeyAction {
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

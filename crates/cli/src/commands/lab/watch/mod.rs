//! A lab that is looked at again and again: on a terminal as a dashboard, elsewhere as tables.

mod dashboard;
mod draw;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::lab::LabStatus;
use ichor_core::lab::view::changes;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::lab::collect::Collector;
use crate::lab::signals::TerminationSignals;
use crate::lab::{Lab, switch};
use dashboard::{Dashboard, KeyAction};

/// From one look to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// How soon keys, signals and news are noticed.
const TICK: Duration = Duration::from_millis(200);

/// Prints whenever something changes; says whether all stood at last.
pub(super) fn plain(lab: &Lab, json: bool, out: &mut dyn Write) -> anyhow::Result<bool> {
    let signals = TerminationSignals::catch()?;
    let mut ear = Collector::new(lab);
    let mut before: Option<LabStatus> = None;
    loop {
        let start = Instant::now();
        let view = ear.collect();
        let news = before.as_ref().map(|before| changes(before, &view));
        let anything = news.as_ref().is_none_or(|news| !news.is_empty());
        if anything && json {
            writeln!(out, "{}", serde_json::to_string(&view)?)?;
        } else if anything {
            for change in news.iter().flatten() {
                writeln!(out, "{} {change}", view.time)?;
            }
            writeln!(out, "{}", view.text())?;
        }
        out.flush()?;
        let stands = view.stands;
        before = Some(view);
        while start.elapsed() < PAUSE {
            if signals.came()? {
                return Ok(stands);
            }
            thread::sleep(TICK);
        }
        if !lab.place.is_alive() {
            return Err(lab.place.absent().into());
        }
    }
}

/// Shows the dashboard until somebody has seen enough; says whether all stood at last.
pub(super) fn screen(lab: &Lab) -> anyhow::Result<bool> {
    let signals = TerminationSignals::catch()?;
    let (tell, views) = mpsc::channel();
    let (poke, poked) = mpsc::channel();
    thread::scope(|threads| {
        threads.spawn(move || look(lab, &tell, &poked));
        // Also when this panics, the terminal is as it was: that is seen to where it is taken.
        let mut terminal = ratatui::try_init()?;
        let shown = show(lab, &mut terminal, &signals, &views, &poke);
        ratatui::restore();
        drop(poke);
        shown
    })
}

/// Looks every second, and when somebody did something, until nobody listens.
fn collect(lab: &Lab, tell: &Sender<LabStatus>, poked: &Receiver<()>) {
    let mut ear = Collector::new(lab);
    loop {
        let start = Instant::now();
        if tell.send(ear.collect()).is_err() {
            return;
        }
        let rest = PAUSE.saturating_sub(start.elapsed()).max(TICK);
        if let Err(RecvTimeoutError::Disconnected) = poked.recv_timeout(rest) {
            return;
        }
    }
}

fn show(
    lab: &Lab,
    terminal: &mut ratatui::DefaultTerminal,
    signals: &TerminationSignals,
    views: &Receiver<LabStatus>,
    poke: &Sender<()>,
) -> anyhow::Result<bool> {
    let mut board = Dashboard::new(lab.place.name(), lab.scene());
    loop {
        terminal.draw(|frame| draw::draw(&mut board, frame))?;
        let heard = event::poll(TICK)?.then(event::read).transpose()?;
        let action = match heard {
            Some(Event::Key(key)) if key.kind == KeyEventKind::Press => board.key(key),
            _ => KeyAction::None,
        };
        if action == KeyAction::Quit || signals.came()? {
            return Ok(board.stands());
        }
        if let Err(error) = act(lab, &action) {
            board.note(format!("it could not be done: {error}"));
        }
        if action != KeyAction::None {
            let _ = poke.send(());
        }
        for view in views.try_iter() {
            board.take(view);
        }
        if !lab.place.is_alive() {
            return Err(lab.place.absent().into());
        }
    }
}

/// Does what a key asked for.
fn act(lab: &Lab, action: &KeyAction) -> anyhow::Result<()> {
    let ends = |link: &String| switch::find_ends(lab, std::slice::from_ref(link));
    match action {
        KeyAction::Cut { link, silent } => switch::cut(lab, &ends(link)?, *silent)?,
        KeyAction::Heal { link } => switch::heal(lab, &ends(link)?)?,
        KeyAction::None | KeyAction::Quit => {}
    }
    Ok(())
}

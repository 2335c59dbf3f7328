//! Watches a lab: with a dashboard on a terminal, elsewhere with tables.

mod dashboard;
mod draw;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::lab::LabStatus;
use ichor_core::lab::status::changes;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::lab::collect::Collector;
use crate::lab::signals::TerminationSignals;
use crate::lab::{Lab, switch};
use dashboard::{Dashboard, KeyAction};

/// Interval between collections.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// Interval between polls of keys, signals and status updates.
const TICK: Duration = Duration::from_millis(200);

/// Prints every change; returns whether the lab was healthy at the end.
pub(super) fn plain(lab: &Lab, json: bool, out: &mut dyn Write) -> anyhow::Result<bool> {
    let signals = TerminationSignals::catch()?;
    let mut collector = Collector::new(lab);
    let mut before: Option<LabStatus> = None;
    loop {
        let start = Instant::now();
        let view = collector.collect();
        let changes = before.as_ref().map(|before| changes(before, &view));
        let is_changed = changes.as_ref().is_none_or(|changes| !changes.is_empty());
        if is_changed && json {
            writeln!(out, "{}", serde_json::to_string(&view)?)?;
        } else if is_changed {
            for change in changes.iter().flatten() {
                writeln!(out, "{} {change}", view.time)?;
            }
            writeln!(out, "{}", view.to_text())?;
        }
        out.flush()?;
        let is_healthy = view.ok;
        before = Some(view);
        while start.elapsed() < REFRESH_INTERVAL {
            if signals.received()? {
                return Ok(is_healthy);
            }
            thread::sleep(TICK);
        }
        if !lab.dir.is_alive() {
            return Err(lab.dir.absent().into());
        }
    }
}

/// Shows the dashboard until it is closed; returns whether the lab was healthy at the end.
pub(super) fn screen(lab: &Lab) -> anyhow::Result<bool> {
    let signals = TerminationSignals::catch()?;
    let (publish, views) = mpsc::channel();
    let (refresh, requests) = mpsc::channel();
    thread::scope(|threads| {
        threads.spawn(move || collect_repeatedly(lab, &publish, &requests));
        // `try_init` installs a panic hook that restores the terminal.
        let mut terminal = ratatui::try_init()?;
        let shown = show(lab, &mut terminal, &signals, &views, &refresh);
        ratatui::restore();
        drop(refresh);
        shown
    })
}

/// Collects the status every second and on request, until the receiver is dropped.
fn collect_repeatedly(lab: &Lab, publish: &Sender<LabStatus>, requests: &Receiver<()>) {
    let mut collector = Collector::new(lab);
    loop {
        let start = Instant::now();
        if publish.send(collector.collect()).is_err() {
            return;
        }
        let rest = REFRESH_INTERVAL.saturating_sub(start.elapsed()).max(TICK);
        if let Err(RecvTimeoutError::Disconnected) = requests.recv_timeout(rest) {
            return;
        }
    }
}

fn show(
    lab: &Lab,
    terminal: &mut ratatui::DefaultTerminal,
    signals: &TerminationSignals,
    views: &Receiver<LabStatus>,
    refresh: &Sender<()>,
) -> anyhow::Result<bool> {
    let mut dashboard = Dashboard::new(lab.dir.name(), lab.topology());
    loop {
        terminal.draw(|frame| draw::draw(&mut dashboard, frame))?;
        let event = event::poll(TICK)?.then(event::read).transpose()?;
        let action = match event {
            Some(Event::Key(key)) if key.kind == KeyEventKind::Press => dashboard.handle_key(key),
            _ => KeyAction::None,
        };
        if action == KeyAction::Quit || signals.received()? {
            return Ok(dashboard.is_healthy());
        }
        if let Err(error) = apply_action(lab, &action) {
            dashboard.log_error(format!("the action failed: {error}"));
        }
        if action != KeyAction::None {
            let _ = refresh.send(());
        }
        for view in views.try_iter() {
            dashboard.update(view);
        }
        if !lab.dir.is_alive() {
            return Err(lab.dir.absent().into());
        }
    }
}

/// Cuts or heals the selected cable.
fn apply_action(lab: &Lab, action: &KeyAction) -> anyhow::Result<()> {
    let ends = |link: &String| switch::find_ends(lab, std::slice::from_ref(link));
    match action {
        KeyAction::Cut { link, silent } => switch::cut(lab, &ends(link)?, *silent)?,
        KeyAction::Heal { link } => switch::heal(lab, &ends(link)?)?,
        KeyAction::None | KeyAction::Quit => {}
    }
    Ok(())
}

//! Draws the dashboard: sessions and prefixes above, cables and events below.

use ichor_core::lab::LabStatus;
use ichor_core::lab::status::{ChangeTone, LabSessionStatus};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, List, ListItem, ListState, Paragraph, Row, Sparkline, Table};

use super::dashboard::Dashboard;

/// Minimum width for sessions and prefixes side by side.
const WIDE: u16 = 150;
/// Minimum height of the cables and the log; they get a third of a tall screen.
const BELOW: u16 = 8;
const KEYS: &str = " ↑↓ cable  c cut  s cut silently  h heal  PgUp PgDn tables  q quit";

/// Draws the dashboard.
pub(super) fn draw(dashboard: &mut Dashboard, frame: &mut Frame<'_>) {
    let [head, spark, middle, below, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Min(6),
        Constraint::Length(BELOW.max(frame.area().height / 3)),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let longest = dashboard.links.iter().map(|link| link.ends.chars().count()).max().unwrap_or(0);
    // With room for the selection mark and the cut state.
    let cables = u16::try_from(longest + 8).unwrap_or(u16::MAX).min(below.width / 2);
    let [links, log] =
        Layout::horizontal([Constraint::Length(cables), Constraint::Fill(1)]).spacing(1).areas(below);
    self::head(dashboard, frame, head);
    self::spark(dashboard, frame, spark);
    if let Some(view) = &dashboard.view {
        let parts = [Constraint::Fill(1), Constraint::Fill(1)];
        let [left, right] = if middle.width >= WIDE {
            Layout::horizontal(parts).spacing(1).areas(middle)
        } else {
            Layout::vertical(parts).areas(middle)
        };
        dashboard.above =
            sessions(view, dashboard.above, frame, left).max(prefixes(view, dashboard.above, frame, right));
    }
    self::links(dashboard, frame, links);
    self::log(dashboard, frame, log);
    frame.render_widget(Line::from(KEYS).dim(), keys);
}

fn head(dashboard: &Dashboard, frame: &mut Frame<'_>, area: Rect) {
    let line = match &dashboard.view {
        None => Line::from(format!(" {}: querying …", dashboard.name)).bold(),
        Some(view) => {
            let colour = if view.ok { Color::Green } else { Color::Red };
            Line::from(vec![
                Span::styled(" ● ", colour),
                Span::raw(view.summary()).bold(),
                Span::raw(format!("  {}", clock(&view.time.to_string()))).dim(),
            ])
        }
    };
    frame.render_widget(line, area);
}

/// The time of day of a timestamp.
fn clock(moment: &str) -> &str {
    moment.split('T').nth(1).unwrap_or(moment).trim_end_matches('Z')
}

/// Draws the number of established sessions over time, the latest at the right.
fn spark(dashboard: &Dashboard, frame: &mut Frame<'_>, area: Rect) {
    let most = dashboard.view.as_ref().map_or(1, |view| view.session_counts().1.max(1) as u64);
    let skipped = dashboard.history.len().saturating_sub(usize::from(area.width));
    let colour = if dashboard.is_healthy() { Color::Green } else { Color::Yellow };
    let bars =
        Sparkline::default().data(dashboard.history.iter().skip(skipped).copied()).max(most).style(colour);
    frame.render_widget(bars, area);
}

fn titled(title: String) -> Block<'static> {
    Block::new()
        .borders(Borders::TOP)
        .border_style(Style::new().dim())
        .title(Line::from(title).not_dim().bold())
}

/// Draws the sessions, failed ones first; returns the number of rows above the visible part.
fn sessions(view: &LabStatus, above: usize, frame: &mut Frame<'_>, area: Rect) -> usize {
    let (heading, rows) = view.tables().sessions;
    let mut rows: Vec<_> = view.sessions.iter().zip(rows).collect();
    rows.sort_by_key(|(session, _)| session.up || session.fault.is_some());
    let styled = rows.into_iter().map(|(session, row)| {
        let mut cells: Vec<Cell<'_>> = row.into_iter().map(Cell::from).collect();
        cells[1] = std::mem::take(&mut cells[1]).style(colour(session));
        Row::new(cells)
    });
    let widths = [
        Constraint::Fill(3),
        Constraint::Fill(2),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(4),
        Constraint::Length(4),
    ];
    table(" sessions ", heading, styled.collect(), &widths, above, frame, area)
}

fn colour(session: &LabSessionStatus) -> Style {
    let tried = session.one.state.max(session.other.state).is_some_and(|state| state.to_string() != "Idle");
    match (session.up, &session.fault) {
        (true, _) => Color::Green.into(),
        (false, Some(_)) => Style::new().dim(),
        (false, None) if tried => Color::Yellow.into(),
        (false, None) => Color::Red.into(),
    }
}

/// Draws prefixes and paths; returns the number of rows above the visible part.
fn prefixes(view: &LabStatus, above: usize, frame: &mut Frame<'_>, area: Rect) -> usize {
    let (heading, rows) = view.tables().prefixes;
    let styled = rows.into_iter().map(|row| {
        let cell = |text: String| match text.as_str() {
            "–" => Cell::from(text).red(),
            _ => Cell::from(text),
        };
        Row::new(row.into_iter().map(cell).collect::<Vec<_>>())
    });
    let mut widths = vec![Constraint::Fill(2), Constraint::Fill(1)];
    let columns =
        heading.iter().skip(2).map(|name| u16::try_from(name.chars().count().max(6)).unwrap_or(u16::MAX));
    widths.extend(
        columns.map(|width| if heading.len() == 3 { Constraint::Fill(2) } else { Constraint::Length(width) }),
    );
    let rows = styled.collect();
    table(" prefixes and paths ", heading, rows, &widths, above, frame, area)
}

fn table(
    title: &str,
    heading: Vec<String>,
    rows: Vec<Row<'_>>,
    widths: &[Constraint],
    above: usize,
    frame: &mut Frame<'_>,
    area: Rect,
) -> usize {
    // One line for the title, one for the heading.
    let room = usize::from(area.height.saturating_sub(2));
    let above = above.min(rows.len().saturating_sub(room));
    let below = rows.len().saturating_sub(room + above);
    let title = match (above, below) {
        (0, 0) => title.to_owned(),
        (0, below) => format!("{title}({below} more below) "),
        (above, 0) => format!("{title}({above} above) "),
        (above, below) => format!("{title}({above} above, {below} below) "),
    };
    let shown: Vec<Row<'_>> = rows.into_iter().skip(above).collect();
    let heading = Row::new(heading).style(Style::new().dim());
    frame.render_widget(
        Table::new(shown, widths).header(heading).column_spacing(1).block(titled(title)),
        area,
    );
    above
}

/// Draws the cables; cut ones are red.
fn links(dashboard: &Dashboard, frame: &mut Frame<'_>, area: Rect) {
    let items = dashboard.links.iter().map(|link| match dashboard.cut(link) {
        None => ListItem::new(link.ends.clone()),
        Some(cut) => {
            let state = if cut.silent { "lost" } else { "cut" };
            ListItem::new(format!("{state}: {}", link.ends)).style(Color::Red)
        }
    });
    let cut = dashboard.view.as_ref().map_or(0, |view| view.cut.len());
    let title = if cut == 0 { " cables ".to_owned() } else { format!(" cables, {cut} cut ") };
    let list = List::new(items).highlight_symbol("▶ ").highlight_style(Modifier::BOLD).block(titled(title));
    let mut state = ListState::default().with_selected(Some(dashboard.selected));
    frame.render_stateful_widget(list, area, &mut state);
}

/// Draws the log, the latest event at the end.
fn log(dashboard: &Dashboard, frame: &mut Frame<'_>, area: Rect) {
    let room = usize::from(area.height.saturating_sub(1));
    let skipped = dashboard.log.len().saturating_sub(room);
    let line = |(time, change): &(Option<ichor_values::Moment>, ichor_core::lab::status::StatusChange)| {
        let colour = match change.mood {
            ChangeTone::Good => Color::Green,
            ChangeTone::Bad => Color::Red,
            ChangeTone::Note => Color::Yellow,
        };
        let time = time.map(|time| clock(&time.to_string()).to_owned()).unwrap_or_default();
        Line::from(vec![Span::raw(format!("{time} ")).dim(), Span::styled(change.words.clone(), colour)])
    };
    let lines: Vec<Line<'_>> = dashboard.log.iter().skip(skipped).map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(titled(" events ".to_owned())), area);
}

//! Layout of frames and of the rows of cards in them.
//!
//! Frames beside each other have rows at the same heights, so that one line above a row reaches all of its cards.

use std::collections::BTreeSet;

use super::int;
use super::measure::{Measures, PORT};
use super::wiring::WiringStyle;
use crate::render::topology::diagram::{Card, Diagram};
use crate::render::topology::svg::Rectangle;

const GAP: i32 = 16;
const INSET: i32 = 14;
/// Height of the frame's name below the cards.
const LABEL: i32 = 34;
/// Distance between two lines above a row.
pub(crate) const LANE: i32 = 10;
const BETWEEN: i32 = 24;
/// Maximum number of cards in a single row.
const ONE_ROW: usize = 8;

/// Frames in rows; [`CardGrid::place`] sets the positions.
#[derive(Debug)]
pub(crate) struct CardGrid {
    stack: Vec<FrameRow>,
    card: (i32, i32),
    pub(crate) frames: Vec<Rectangle>,
    pub(crate) cards: Vec<Vec<Rectangle>>,
}

#[derive(Debug)]
struct FrameRow {
    /// Frames with their number of columns.
    frames: Vec<(usize, usize)>,
    rows: Vec<CardRow>,
}

/// Cards at one height.
#[derive(Debug, Default)]
pub struct CardRow {
    /// Frame and card.
    pub(crate) cards: Vec<(usize, usize)>,
    /// The hubs with a line above it, from top to bottom.
    pub(crate) lanes: Vec<usize>,
    /// Position of its first line.
    pub(crate) top: i32,
}

impl CardGrid {
    /// Puts frames beside each other, up to `least` or a width that depends on the number of cards.
    pub fn new(diagram: &Diagram, measures: &Measures, least: i32) -> Self {
        let count = diagram.cards().count();
        let columns = columns(count);
        let mut stack: Vec<FrameRow> = Vec::new();
        let room = match count {
            0..=ONE_ROW => i32::MAX,
            _ => (frame_width(columns + 2, measures.card.0) + 100).max(least),
        };
        for (nth, frame) in diagram.frames.iter().enumerate() {
            let rows = frame.cards.len().div_ceil(columns).max(1);
            let frame = (nth, frame.cards.len().div_ceil(rows));
            // Not beside a frame with more rows: the lines to the additional rows would cross an empty area.
            let fits = |frame_row: &FrameRow| {
                let as_high = frame_row
                    .frames
                    .iter()
                    .all(|(other, columns)| diagram.frames[*other].cards.len().div_ceil(*columns) == rows);
                let width =
                    frame_row.width(measures.card.0) + BETWEEN + frame_width(frame.1, measures.card.0);
                as_high && width <= room
            };
            match stack.last_mut().filter(|frame_row| fits(frame_row)) {
                Some(frame_row) => frame_row.frames.push(frame),
                None => stack.push(FrameRow { frames: vec![frame], rows: Vec::new() }),
            }
        }
        for row in &mut stack {
            row.fill(diagram);
        }
        let cards =
            diagram.frames.iter().map(|frame| vec![Rectangle::default(); frame.cards.len()]).collect();
        Self { stack, card: measures.card, frames: vec![Rectangle::default(); diagram.frames.len()], cards }
    }

    /// Assigns to each row the lines of the hubs its cards are connected to.
    pub(crate) fn assign_lanes(&mut self, diagram: &Diagram, style: WiringStyle) {
        for row in self.stack.iter_mut().flat_map(|frame_row| &mut frame_row.rows) {
            let hubs: BTreeSet<_> = row
                .cards
                .iter()
                .flat_map(|card| &card_at(diagram, *card).wires)
                .map(|wire| wire.hub)
                .collect();
            row.lanes = if style == WiringStyle::Direct { Vec::new() } else { hubs.into_iter().collect() };
        }
    }

    pub fn rows(&self) -> impl Iterator<Item = &CardRow> {
        self.stack.iter().flat_map(|frame_row| &frame_row.rows)
    }

    pub(crate) fn width(&self) -> i32 {
        self.stack.iter().map(|frame_row| frame_row.width(self.card.0)).max().unwrap_or(0)
    }

    /// Sets the positions of frames and cards below the top of `across`, centred. Returns the bottom.
    pub fn place(&mut self, measures: &Measures, across: Rectangle) -> i32 {
        let mut y = across.y;
        for frame_row in &mut self.stack {
            let height = frame_row.heights(y, measures.card.1);
            let mut x = across.x + (across.width - frame_row.width(measures.card.0)) / 2;
            for &(frame, columns) in &frame_row.frames {
                let width = frame_width(columns, measures.card.0);
                // All have the height of the tallest: a line to a lower row would cross the name of a shorter frame.
                self.frames[frame] = Rectangle { x, y, width, height };
                for (nth, card) in self.cards[frame].iter_mut().enumerate() {
                    let x = x + INSET + int(nth % columns) * (measures.card.0 + GAP);
                    let y = frame_row.rows[nth / columns].card_top();
                    *card = Rectangle { x, y, width: measures.card.0, height: measures.card.1 };
                }
                x += width + BETWEEN;
            }
            y += height + BETWEEN;
        }
        y - BETWEEN
    }
}

impl FrameRow {
    fn width(&self, card: i32) -> i32 {
        let frames: i32 = self.frames.iter().map(|(_, columns)| frame_width(*columns, card)).sum();
        frames + BETWEEN * int(self.frames.len().saturating_sub(1))
    }

    /// Distributes the cards of its frames over rows.
    fn fill(&mut self, diagram: &Diagram) {
        for &(frame, columns) in &self.frames {
            for nth in 0..diagram.frames[frame].cards.len() {
                let row = nth / columns.max(1);
                if self.rows.len() <= row {
                    self.rows.resize_with(row + 1, CardRow::default);
                }
                self.rows[row].cards.push((frame, nth));
            }
        }
    }

    /// Sets the positions of the rows. Returns the height.
    fn heights(&mut self, top: i32, card: i32) -> i32 {
        let mut y = top + INSET;
        for row in &mut self.rows {
            row.top = y;
            y = row.card_top() + card + GAP;
        }
        y - GAP + LABEL - top
    }
}

impl CardRow {
    /// Position of line `nth`.
    pub(crate) fn lane(&self, nth: usize) -> i32 {
        self.top + LANE * int(nth)
    }

    fn card_top(&self) -> i32 {
        self.lane(self.lanes.len()) + PORT / 2 + if self.lanes.is_empty() { 0 } else { 4 }
    }
}

fn frame_width(columns: usize, card: i32) -> i32 {
    int(columns) * (card + GAP) - GAP + 2 * INSET
}

/// Number of columns: about twice the number of rows, at most ten.
fn columns(cards: usize) -> usize {
    let square = (1..=10).find(|side| side * side >= 2 * cards).unwrap_or(10);
    if cards <= ONE_ROW { ONE_ROW } else { square.max(4) }
}

/// A card by its frame and number.
pub(crate) fn card_at(diagram: &Diagram, (frame, nth): (usize, usize)) -> &Card {
    &diagram.frames[frame].cards[nth]
}

//! Frames beside and below each other, and the rows of cards in them.
//!
//! Frames on one shelf have their rows at the same heights, so that one line above a row reaches all its cards.

use std::collections::BTreeSet;

use super::int;
use super::measure::{Measures, PORT};
use super::wiring::WiringStyle;
use crate::render::topology::scene::{Card, Diagram};
use crate::render::topology::svg::Rectangle;

const GAP: i32 = 16;
const INSET: i32 = 14;
/// Below the cards: the frame's name.
const LABEL: i32 = 34;
/// From one line above a row to the next.
pub(crate) const LANE: i32 = 10;
const BETWEEN: i32 = 24;
/// Up to this many cards stand in one row.
const ONE_ROW: usize = 8;

/// All shelves, and after [`CardGrid::place`] where everything on them is.
#[derive(Debug)]
pub(crate) struct CardGrid {
    stack: Vec<FrameRow>,
    card: (i32, i32),
    pub(crate) frames: Vec<Rectangle>,
    pub(crate) cards: Vec<Vec<Rectangle>>,
}

#[derive(Debug)]
struct FrameRow {
    /// Frames and how many columns each has.
    frames: Vec<(usize, usize)>,
    rows: Vec<CardRow>,
}

/// Cards at one height.
#[derive(Debug, Default)]
pub struct CardRow {
    /// Frame and card.
    pub(crate) cards: Vec<(usize, usize)>,
    /// The hubs whose lines run above it, from top to bottom.
    pub(crate) lanes: Vec<usize>,
    /// Where its lines start.
    pub(crate) top: i32,
}

impl CardGrid {
    /// Puts frames beside each other as long as they are not wider than `least` or than they are many.
    pub fn of(scene: &Diagram, measures: &Measures, least: i32) -> Self {
        let count = scene.cards().count();
        let columns = columns(count);
        let mut shelves: Vec<FrameRow> = Vec::new();
        let room = match count {
            0..=ONE_ROW => i32::MAX,
            _ => (frame_width(columns + 2, measures.card.0) + 100).max(least),
        };
        for (nth, frame) in scene.frames.iter().enumerate() {
            let rows = frame.cards.len().div_ceil(columns).max(1);
            let frame = (nth, frame.cards.len().div_ceil(rows));
            // Not beside a higher one: the lines to its lower rows would run through emptiness.
            let fits = |shelf: &FrameRow| {
                let as_high = shelf
                    .frames
                    .iter()
                    .all(|(other, columns)| scene.frames[*other].cards.len().div_ceil(*columns) == rows);
                let width = shelf.width(measures.card.0) + BETWEEN + frame_width(frame.1, measures.card.0);
                as_high && width <= room
            };
            match shelves.last_mut().filter(|shelf| fits(shelf)) {
                Some(shelf) => shelf.frames.push(frame),
                None => shelves.push(FrameRow { frames: vec![frame], rows: Vec::new() }),
            }
        }
        for shelf in &mut shelves {
            shelf.fill(scene);
        }
        let cards = scene.frames.iter().map(|frame| vec![Rectangle::default(); frame.cards.len()]).collect();
        Self {
            stack: shelves,
            card: measures.card,
            frames: vec![Rectangle::default(); scene.frames.len()],
            cards,
        }
    }

    /// Gives each row the lines of the hubs its cards are connected to.
    pub(crate) fn lanes(&mut self, scene: &Diagram, style: WiringStyle) {
        for row in self.stack.iter_mut().flat_map(|shelf| &mut shelf.rows) {
            let hubs: BTreeSet<_> =
                row.cards.iter().flat_map(|card| &card_of(scene, *card).wires).map(|wire| wire.hub).collect();
            row.lanes = if style == WiringStyle::Direct { Vec::new() } else { hubs.into_iter().collect() };
        }
    }

    pub fn rows(&self) -> impl Iterator<Item = &CardRow> {
        self.stack.iter().flat_map(|shelf| &shelf.rows)
    }

    pub(crate) fn width(&self) -> i32 {
        self.stack.iter().map(|shelf| shelf.width(self.card.0)).max().unwrap_or(0)
    }

    /// Places everything below the top of `across`, each shelf in the middle; says where it ends.
    pub fn place(&mut self, measures: &Measures, across: Rectangle) -> i32 {
        let mut y = across.y;
        for shelf in &mut self.stack {
            let height = shelf.heights(y, measures.card.1);
            let mut x = across.x + (across.width - shelf.width(measures.card.0)) / 2;
            for &(frame, columns) in &shelf.frames {
                let width = frame_width(columns, measures.card.0);
                // All as high as the highest: a line to a lower row would cross the name of a shorter one.
                self.frames[frame] = Rectangle { x, y, width, height };
                for (nth, card) in self.cards[frame].iter_mut().enumerate() {
                    let x = x + INSET + int(nth % columns) * (measures.card.0 + GAP);
                    let y = shelf.rows[nth / columns].card_top();
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

    /// Puts the cards of its frames into rows.
    fn fill(&mut self, scene: &Diagram) {
        for &(frame, columns) in &self.frames {
            for nth in 0..scene.frames[frame].cards.len() {
                let row = nth / columns.max(1);
                if self.rows.len() <= row {
                    self.rows.resize_with(row + 1, CardRow::default);
                }
                self.rows[row].cards.push((frame, nth));
            }
        }
    }

    /// Gives the rows their heights; says how high the shelf is.
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
    /// Where line `nth` runs.
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

/// About twice as wide as high, and never more than ten.
fn columns(cards: usize) -> usize {
    let square = (1..=10).find(|side| side * side >= 2 * cards).unwrap_or(10);
    if cards <= ONE_ROW { ONE_ROW } else { square.max(4) }
}

/// A card by its frame and number.
pub(crate) fn card_of(scene: &Diagram, (frame, nth): (usize, usize)) -> &Card {
    &scene.frames[frame].cards[nth]
}

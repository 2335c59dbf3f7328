//! A diagram parsed again: the positions of its boxes and texts.

use roxmltree::{Document, Node};

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
}

impl Area {
    fn of(rect: Node<'_, '_>) -> Self {
        let (left, top) = (number(rect, "x"), number(rect, "y"));
        Self { left, top, right: left + number(rect, "width"), bottom: top + number(rect, "height") }
    }

    pub fn is_inside(&self, other: &Self) -> bool {
        self.left >= other.left
            && self.top >= other.top
            && self.right <= other.right
            && self.bottom <= other.bottom
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// A text, its position and the box or page around it.
#[derive(Debug)]
pub struct Text {
    pub size: i32,
    pub area: Area,
    pub around: Area,
    #[expect(dead_code, reason = "said when a test fails")]
    words: String,
}

pub struct Picture<'s> {
    document: Document<'s>,
    pub page: Area,
}

impl<'s> Picture<'s> {
    pub fn read(svg: &'s str) -> Self {
        let document = Document::parse(svg).unwrap();
        let page =
            document.root_element().children().find(|node| node.has_tag_name("rect")).map(Area::of).unwrap();
        Self { document, page }
    }

    fn groups(&self, class: &str) -> impl Iterator<Item = Node<'_, 's>> {
        self.document.descendants().filter(move |node| node.attribute("class") == Some(class))
    }

    /// The boxes, or the frames behind them.
    pub fn areas(&self, class: &str) -> Vec<Area> {
        let rect = |node: Node<'_, 's>| {
            if node.has_tag_name("rect") {
                return Area::of(node);
            }
            Area::of(node.children().find(|child| child.has_tag_name("rect")).unwrap())
        };
        self.groups(class).map(rect).collect()
    }

    /// The boxes of nodes.
    pub fn cards(&self) -> Vec<Area> {
        self.groups("card").filter_map(box_of).collect()
    }

    /// Every text, with a conservative estimate of its width.
    pub fn texts(&self) -> impl Iterator<Item = Text> {
        self.document.descendants().filter(|node| node.has_tag_name("text")).map(|node| {
            let words: String =
                node.children().filter(|child| child.is_text()).filter_map(|child| child.text()).collect();
            let size = number(node, "font-size");
            let letters = i32::try_from(words.chars().count()).unwrap();
            let wide = letters * size * if node.has_attribute("font-family") { 602 } else { 500 } / 1000;
            let (x, y) = (number(node, "x"), number(node, "y"));
            let left = match node.attribute("text-anchor") {
                Some("middle") => x - wide / 2,
                Some(_) => x - wide,
                None => x,
            };
            let area = Area { left, top: y - size, right: left + wide, bottom: y };
            let around = node.parent().and_then(box_of).unwrap_or(self.page);
            Text { size, area, around, words }
        })
    }

    /// The tooltips.
    pub fn all_titles(&self) -> impl Iterator<Item = &str> {
        self.document.descendants().filter(|node| node.has_tag_name("title")).filter_map(|node| node.text())
    }
}

fn box_of(group: Node<'_, '_>) -> Option<Area> {
    group.children().find(|child| child.attribute("class") == Some("box")).map(Area::of)
}

fn number(node: Node<'_, '_>, name: &str) -> i32 {
    node.attribute(name).map_or(0, |text| text.parse().unwrap())
}

//! Following symbolic links in a tree that is not on disk: nothing ever leads out of it.

/// As many links are followed as Linux does.
const MOST_LINKS: usize = 40;

/// The entry at a path.
pub enum LinkTarget<'t> {
    /// A folder.
    Folder,
    /// A link, and where it leads.
    Link(&'t str),
    /// Any other entry.
    Leaf,
}

/// The target of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkWalk {
    /// The links that were followed, in order.
    pub links: Vec<String>,
    /// The path without any.
    pub target: String,
}

/// Follows a path from the root of a tree. None if it is dangling, has a loop, or passes through a file.
pub fn follow<'t>(path: &str, look: impl Fn(&str) -> Option<LinkTarget<'t>>) -> Option<LinkWalk> {
    let steps = |path: &str| path.split('/').rev().map(str::to_owned).collect::<Vec<_>>();
    let (mut ahead, mut at, mut links) = (steps(path), Vec::<String>::new(), Vec::new());
    while let Some(step) = ahead.pop() {
        match step.as_str() {
            "" | "." => continue,
            ".." => {
                at.pop();
                continue;
            }
            _ => at.push(step),
        }
        let here = at.join("/");
        match look(&here)? {
            LinkTarget::Folder => {}
            LinkTarget::Link(target) => {
                links.push(here);
                if links.len() > MOST_LINKS {
                    return None;
                }
                at.pop();
                if target.starts_with('/') {
                    at.clear();
                }
                ahead.extend(steps(target));
            }
            LinkTarget::Leaf if ahead.iter().all(|step| step.is_empty()) => {}
            LinkTarget::Leaf => return None,
        }
    }
    Some(LinkWalk { links, target: at.join("/") })
}

//! Instances of BGP: `router bgp`, its neighbours and its families.

use std::collections::BTreeSet;

use super::change::Phase;
use super::context::{Context, starts_with_words};
use super::difference::{ChangeList, index, is_frame};
use super::key;
use super::line::Line;
use super::statement::{StatementKind, replaces, statement};

/// The `router bgp` lines, those of VRFs first: instances that import them then find them.
fn heads(lines: &[Line]) -> Vec<&Line> {
    let mut heads: Vec<_> = lines.iter().filter(|line| line.opens() == Some(Context::Bgp)).collect();
    heads.sort_by_key(|head| vrf(head).is_none());
    heads
}

/// The VRF of an instance.
fn vrf(head: &Line) -> Option<&str> {
    match head.words().as_slice() {
        ["router", "bgp", _, "vrf", name, ..] => Some(name),
        _ => None,
    }
}

/// The name by which other instances import an instance.
fn name(head: &Line) -> &str {
    vrf(head).unwrap_or("default")
}

/// Whether a line is the instance or below it.
fn belongs_to(line: &Line, head: &Line) -> bool {
    line == head || line.above.first() == Some(&head.text)
}

fn is_import(line: &Line) -> bool {
    line.within() == Some(Context::Family) && starts_with_words(&line.text, "import vrf")
}

/// Removes the instances that must be recreated with another AS number, which FRR rejects while the old one exists, and
/// returns the lines that still run. An instance that imports another cannot be removed, so imports are removed first.
pub(crate) fn clear(running: &[Line], intended: &[Line], changes: &mut ChangeList) -> Vec<Line> {
    let intended = heads(intended);
    let other = |head: &&Line| intended.iter().any(|new| vrf(new) == vrf(head) && new.text != head.text);
    let cleared: Vec<_> = heads(running).into_iter().filter(other).collect();
    let concerned = |line: &&Line| {
        let imports =
            |head: &&Line| line.text == format!("import vrf {}", name(head)) || belongs_to(line, head);
        is_import(line) && cleared.iter().any(imports)
    };
    let imports: Vec<_> = running.iter().filter(concerned).collect();
    for line in &imports {
        changes.remove(Phase::Clear, line);
    }
    for head in cleared.iter().rev() {
        changes.remove(Phase::Clear, head);
    }
    let stays = |line: &&Line| !imports.contains(line) && !cleared.iter().any(|head| belongs_to(line, head));
    running.iter().filter(stays).cloned().collect()
}

/// The changes that turn the running instances into the intended ones.
pub fn changes(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let old_heads = heads(running);
    for head in heads(intended) {
        let new = !old_heads.contains(&head);
        if new {
            changes.add(Phase::Instance, head.clone());
        }
        let lines_of = |lines: &[Line]| -> Vec<Line> {
            lines.iter().filter(|line| belongs_to(line, head) && *line != head).cloned().collect()
        };
        BgpInstance { head, new, now: lines_of(running), intended: lines_of(intended) }.changes(changes);
    }
    let intended = heads(intended);
    for head in old_heads.into_iter().rev().filter(|head| !intended.contains(head)) {
        for line in running.iter().filter(|line| belongs_to(line, head) && is_import(line)) {
            changes.remove(Phase::Release, line);
        }
        changes.remove(Phase::Release, head);
    }
}

/// One intended instance.
struct BgpInstance<'l> {
    head: &'l Line,
    /// Whether it does not run yet.
    new: bool,
    /// Its running lines.
    now: Vec<Line>,
    /// Its intended lines.
    intended: Vec<Line>,
}

impl BgpInstance<'_> {
    fn changes(mut self, changes: &mut ChangeList) {
        self.replace_neighbors(changes);
        self.remove_unknown(changes);
        self.add_lines(changes);
        self.remove_lines(changes);
    }

    /// Removes neighbours that FRR can change only by recreating them.
    fn replace_neighbors(&mut self, changes: &mut ChangeList) {
        let intended = identities(&self.intended);
        let now = identities(&self.now);
        let must_recreate = |name: &str| {
            let of_name = |set: &BTreeSet<(String, String)>| -> BTreeSet<_> {
                set.iter().filter(|(other, _)| other == name).cloned().collect()
            };
            !of_name(&intended).is_empty() && !of_name(&now).is_subset(&of_name(&intended))
        };
        for name in names(&self.now).into_iter().filter(|name| must_recreate(name)) {
            self.remove_neighbor(&name, changes);
            let members: Vec<_> = now.iter().filter(|(_, what)| *what == format!("in {name}")).collect();
            self.now.retain(|line| {
                let owner = neighbor(line);
                owner != Some(&name) && !members.iter().any(|(member, _)| owner == Some(member))
            });
        }
    }

    /// Removes a neighbour or peer group.
    fn remove_neighbor(&self, name: &str, changes: &mut ChangeList) {
        let group = self.now.iter().any(|line| line.text == format!("neighbor {name} peer-group"));
        let text = format!("no neighbor {name}{}", if group { " peer-group" } else { "" });
        changes.add(Phase::Instance, Line::below(std::slice::from_ref(&self.head.text), text));
    }

    /// Unknown statements are removed first: removed later, they could take along the lines that replace them.
    fn remove_unknown(&self, changes: &mut ChangeList) {
        let intended = index(&self.intended);
        for line in &self.now {
            let unknown = statement(line) == StatementKind::Unknown && !is_frame(line);
            if unknown && !intended.contains_key(&key(line)) && !self.goes_with_neighbor(line) {
                changes.remove(Phase::Instance, line);
            }
        }
    }

    fn goes_with_neighbor(&self, line: &Line) -> bool {
        neighbor(line).is_some_and(|name| !names(&self.intended).contains(name))
    }

    /// First the settings of the instance and its neighbours, then each family: its filters before its activation.
    fn add_lines(&self, changes: &mut ChangeList) {
        let now = index(&self.now);
        let added: Vec<_> = self
            .intended
            .iter()
            .filter(|line| !is_frame(line) && now.get(&key(line)) != Some(line))
            .collect();
        let family = |line: &&&Line| line.within() != Some(Context::Bgp);
        let (of_family, of_instance): (Vec<_>, Vec<_>) =
            added.iter().copied().partition(|line| family(&line));
        let (active, of_family): (Vec<_>, Vec<_>) =
            of_family.into_iter().partition(|line| is_activation(line));
        for line in of_instance.into_iter().chain(of_family) {
            let phase = if is_import(line) { Phase::Use } else { Phase::Instance };
            if let Some(old) = now.get(&key(line)).filter(|old| !replaces(&line.text, &old.text)) {
                changes.remove(phase, old);
            }
            changes.add(phase, line.clone());
        }
        self.deactivate(changes);
        for line in active {
            changes.add(Phase::Instance, line.clone());
        }
    }

    /// A new neighbour is active in IPv4 unless the instance disables that.
    fn deactivate(&self, changes: &mut ChangeList) {
        let off = |lines: &[Line]| lines.iter().any(|line| line.text == "no bgp default ipv4-unicast");
        if off(&self.intended) || (!self.new && off(&self.now)) {
            return;
        }
        let within = [self.head.text.clone(), "address-family ipv4 unicast".to_owned()];
        let grouped = identities(&self.intended);
        for name in names(&self.intended).difference(&names(&self.now)) {
            let active = Line::below(&within, format!("neighbor {name} activate"));
            let in_group = grouped.iter().any(|(other, what)| other == name && what.starts_with("in "));
            if !in_group && !self.intended.contains(&active) {
                changes.remove(Phase::Instance, &active);
            }
        }
    }

    /// Removes lines that are no longer intended: activations first, then the rest in reverse order; then neighbours,
    /// and peer groups after them.
    fn remove_lines(&self, changes: &mut ChangeList) {
        let intended = index(&self.intended);
        let gone = |line: &&Line| {
            !is_frame(line)
                && !intended.contains_key(&key(line))
                && statement(line) != StatementKind::Unknown
                && !self.goes_with_neighbor(line)
        };
        let gone: Vec<_> = self.now.iter().rev().filter(gone).collect();
        let (active, rest): (Vec<&Line>, Vec<&Line>) = gone.into_iter().partition(|line| is_activation(line));
        let (of_family, of_instance): (Vec<&Line>, Vec<&Line>) =
            rest.into_iter().partition(|line| line.within() != Some(Context::Bgp));
        for line in active.into_iter().chain(of_family).chain(of_instance) {
            changes.remove(Phase::Instance, line);
        }
        let leaving = names(&self.now);
        let leaving = leaving.difference(&names(&self.intended)).cloned().collect::<Vec<_>>();
        let is_group =
            |name: &String| self.now.iter().any(|line| line.text == format!("neighbor {name} peer-group"));
        let (groups, single): (Vec<_>, Vec<_>) = leaving.into_iter().partition(is_group);
        for name in single.into_iter().chain(groups) {
            self.remove_neighbor(&name, changes);
        }
    }
}

fn is_activation(line: &Line) -> bool {
    line.text.starts_with("neighbor ") && line.text.ends_with(" activate")
}

/// The neighbour or peer group of a line.
fn neighbor(line: &Line) -> Option<&str> {
    let text = line.text.strip_prefix("no ").unwrap_or(&line.text);
    text.strip_prefix("neighbor ").and_then(|rest| rest.split(' ').next())
}

/// The existing neighbours and peer groups.
fn names(lines: &[Line]) -> BTreeSet<String> {
    identities(lines).into_iter().map(|(name, _)| name).collect()
}

/// The identity of a neighbour or group: an interface, a group, a member of one, or a neighbour with its own AS number.
fn identities(lines: &[Line]) -> BTreeSet<(String, String)> {
    let identity = |line: &Line| {
        let (name, what) = match line.words().as_slice() {
            ["neighbor", name, "interface"] => (*name, "port".to_owned()),
            ["neighbor", name, "peer-group"] => (*name, "group".to_owned()),
            ["neighbor", name, "peer-group", group] => (*name, format!("in {group}")),
            ["neighbor", name, "remote-as", _] => (*name, "numbered".to_owned()),
            _ => return None,
        };
        Some((name.to_owned(), what))
    };
    lines.iter().filter(|line| line.within() == Some(Context::Bgp)).filter_map(identity).collect()
}

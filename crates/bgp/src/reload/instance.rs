//! Instances of BGP: `router bgp`, its neighbours and its families.

use std::collections::BTreeSet;

use super::change::Phase;
use super::context::{Context, starts};
use super::difference::{ChangeList, index, is_frame};
use super::key;
use super::line::Line;
use super::statement::{StatementKind, replaces, statement};

/// The heads of the instances, those of VRFs first: what imports them finds them there.
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

/// What others call an instance when they import it.
fn name(head: &Line) -> &str {
    vrf(head).unwrap_or("default")
}

/// Whether a line is the instance or below it.
fn is_of(line: &Line, head: &Line) -> bool {
    line == head || line.above.first() == Some(&head.text)
}

fn is_import(line: &Line) -> bool {
    line.within() == Some(Context::Family) && starts(&line.text, "import vrf")
}

/// Takes back the instances that must come back with another AS number, which FRR refuses while the old one is there. What then
/// still runs is returned. An instance that imports does not go, so imports go before it.
pub(crate) fn clear(running: &[Line], intended: &[Line], changes: &mut ChangeList) -> Vec<Line> {
    let meant = heads(intended);
    let other = |head: &&Line| meant.iter().any(|new| vrf(new) == vrf(head) && new.text != head.text);
    let cleared: Vec<_> = heads(running).into_iter().filter(other).collect();
    let concerned = |line: &&Line| {
        let imports = |head: &&Line| line.text == format!("import vrf {}", name(head)) || is_of(line, head);
        is_import(line) && cleared.iter().any(imports)
    };
    let imports: Vec<_> = running.iter().filter(concerned).collect();
    for line in &imports {
        changes.take_back(Phase::Clear, line);
    }
    for head in cleared.iter().rev() {
        changes.take_back(Phase::Clear, head);
    }
    let stays = |line: &&Line| !imports.contains(line) && !cleared.iter().any(|head| is_of(line, head));
    running.iter().filter(stays).cloned().collect()
}

/// What turns the running instances into the intended ones.
pub fn changes(running: &[Line], intended: &[Line], changes: &mut ChangeList) {
    let old_heads = heads(running);
    for head in heads(intended) {
        let new = !old_heads.contains(&head);
        if new {
            changes.tell(Phase::Instance, head.clone());
        }
        let of = |lines: &[Line]| -> Vec<Line> {
            lines.iter().filter(|line| is_of(line, head) && *line != head).cloned().collect()
        };
        BgpInstance { head, new, now: of(running), meant: of(intended) }.changes(changes);
    }
    let meant = heads(intended);
    for head in old_heads.into_iter().rev().filter(|head| !meant.contains(head)) {
        for line in running.iter().filter(|line| is_of(line, head) && is_import(line)) {
            changes.take_back(Phase::Release, line);
        }
        changes.take_back(Phase::Release, head);
    }
}

/// One instance that is meant.
struct BgpInstance<'l> {
    head: &'l Line,
    /// Whether it does not run yet.
    new: bool,
    /// What it is told now.
    now: Vec<Line>,
    /// What it shall be told.
    meant: Vec<Line>,
}

impl BgpInstance<'_> {
    fn changes(mut self, changes: &mut ChangeList) {
        self.replace_neighbors(changes);
        self.forget_unknown(changes);
        self.tell(changes);
        self.forget(changes);
    }

    /// Neighbours that FRR can make into what is meant in no other way go, to come back.
    fn replace_neighbors(&mut self, changes: &mut ChangeList) {
        let meant = identities(&self.meant);
        let now = identities(&self.now);
        let lost = |name: &str| {
            let of = |set: &BTreeSet<(String, String)>| -> BTreeSet<_> {
                set.iter().filter(|(other, _)| other == name).cloned().collect()
            };
            !of(&meant).is_empty() && !of(&now).is_subset(&of(&meant))
        };
        for name in names(&self.now).into_iter().filter(|name| lost(name)) {
            self.remove_neighbor(&name, changes);
            let members: Vec<_> = now.iter().filter(|(_, what)| *what == format!("in {name}")).collect();
            self.now.retain(|line| {
                let of = neighbor(line);
                of != Some(&name) && !members.iter().any(|(member, _)| of == Some(member))
            });
        }
    }

    /// Takes a whole neighbour or group back.
    fn remove_neighbor(&self, name: &str, changes: &mut ChangeList) {
        let group = self.now.iter().any(|line| line.text == format!("neighbor {name} peer-group"));
        let text = format!("no neighbor {name}{}", if group { " peer-group" } else { "" });
        changes.tell(Phase::Instance, Line::below(std::slice::from_ref(&self.head.text), text));
    }

    /// What is not known here goes first: taken back later, it could take with it what came in its place.
    fn forget_unknown(&self, changes: &mut ChangeList) {
        let meant = index(&self.meant);
        for line in &self.now {
            let unknown = statement(line) == StatementKind::Unknown && !is_frame(line);
            if unknown && !meant.contains_key(&key(line)) && !self.goes_with_neighbor(line) {
                changes.take_back(Phase::Instance, line);
            }
        }
    }

    fn goes_with_neighbor(&self, line: &Line) -> bool {
        neighbor(line).is_some_and(|name| !names(&self.meant).contains(name))
    }

    /// First what concerns the instance and its neighbours, then each family: its filters before it is activated.
    fn tell(&self, changes: &mut ChangeList) {
        let now = index(&self.now);
        let told: Vec<_> =
            self.meant.iter().filter(|line| !is_frame(line) && now.get(&key(line)) != Some(line)).collect();
        let family = |line: &&&Line| line.within() != Some(Context::Bgp);
        let (of_family, of_instance): (Vec<_>, Vec<_>) = told.iter().copied().partition(|line| family(&line));
        let (active, of_family): (Vec<_>, Vec<_>) =
            of_family.into_iter().partition(|line| is_activation(line));
        for line in of_instance.into_iter().chain(of_family) {
            let phase = if is_import(line) { Phase::Use } else { Phase::Instance };
            if let Some(old) = now.get(&key(line)).filter(|old| !replaces(&line.text, &old.text)) {
                changes.take_back(phase, old);
            }
            changes.tell(phase, line.clone());
        }
        self.deactivate(changes);
        for line in active {
            changes.tell(Phase::Instance, line.clone());
        }
    }

    /// A new neighbour is active in IPv4 unless the instance says otherwise.
    fn deactivate(&self, changes: &mut ChangeList) {
        let off = |lines: &[Line]| lines.iter().any(|line| line.text == "no bgp default ipv4-unicast");
        if off(&self.meant) || (!self.new && off(&self.now)) {
            return;
        }
        let within = [self.head.text.clone(), "address-family ipv4 unicast".to_owned()];
        let grouped = identities(&self.meant);
        for name in names(&self.meant).difference(&names(&self.now)) {
            let active = Line::below(&within, format!("neighbor {name} activate"));
            let in_group = grouped.iter().any(|(other, what)| other == name && what.starts_with("in "));
            if !in_group && !self.meant.contains(&active) {
                changes.take_back(Phase::Instance, &active);
            }
        }
    }

    /// What is not meant any more: activations first, then the rest, the last first; then neighbours, and groups after them.
    fn forget(&self, changes: &mut ChangeList) {
        let meant = index(&self.meant);
        let gone = |line: &&Line| {
            !is_frame(line)
                && !meant.contains_key(&key(line))
                && statement(line) != StatementKind::Unknown
                && !self.goes_with_neighbor(line)
        };
        let gone: Vec<_> = self.now.iter().rev().filter(gone).collect();
        let (active, rest): (Vec<&Line>, Vec<&Line>) = gone.into_iter().partition(|line| is_activation(line));
        let (of_family, of_instance): (Vec<&Line>, Vec<&Line>) =
            rest.into_iter().partition(|line| line.within() != Some(Context::Bgp));
        for line in active.into_iter().chain(of_family).chain(of_instance) {
            changes.take_back(Phase::Instance, line);
        }
        let leaving = names(&self.now);
        let leaving = leaving.difference(&names(&self.meant)).cloned().collect::<Vec<_>>();
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

/// The neighbour or group that a line is about.
fn neighbor(line: &Line) -> Option<&str> {
    let text = line.text.strip_prefix("no ").unwrap_or(&line.text);
    text.strip_prefix("neighbor ").and_then(|rest| rest.split(' ').next())
}

/// The neighbours and groups that exist.
fn names(lines: &[Line]) -> BTreeSet<String> {
    identities(lines).into_iter().map(|(name, _)| name).collect()
}

/// What makes a neighbour or group what it is: a port, a group, a member of one, a neighbour with an AS number of its own.
fn identities(lines: &[Line]) -> BTreeSet<(String, String)> {
    let of = |line: &Line| {
        let (name, what) = match line.words().as_slice() {
            ["neighbor", name, "interface"] => (*name, "port".to_owned()),
            ["neighbor", name, "peer-group"] => (*name, "group".to_owned()),
            ["neighbor", name, "peer-group", group] => (*name, format!("in {group}")),
            ["neighbor", name, "remote-as", _] => (*name, "numbered".to_owned()),
            _ => return None,
        };
        Some((name.to_owned(), what))
    };
    lines.iter().filter(|line| line.within() == Some(Context::Bgp)).filter_map(of).collect()
}

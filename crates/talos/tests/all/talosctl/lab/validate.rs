//! `talosctl validate`: the verdict on random configurations, in every mode.

use std::fmt;
use std::sync::Arc;

use ichor_talos::validate::{Mode, Report};

use super::judge::{self, Case};
use super::program::{Talosctl, Workplace};
use super::random::Random;
use super::tree::Tree;
use super::{corpus, for_each_release, growth, mutation};

for_each_release! {
    random_configurations_are_judged_as_talos_1_11_does: 11,
    random_configurations_are_judged_as_talos_1_12_does: 12,
    random_configurations_are_judged_as_talos_1_13_does: 13,
    random_configurations_are_judged_as_talos_1_14_does: 14,
}

const CASES: u64 = 300;

const MODES: [(&str, Mode); 3] =
    [("metal", Mode::Metal), ("cloud", Mode::Cloud), ("container", Mode::Container)];

fn judge_release(minor: u16) {
    let talosctl = Arc::new(Talosctl::of(minor));
    let corpus = corpus::configurations(&talosctl.release);
    judge::judge(CASES, |nth| {
        let mut random = Random::for_case(u64::from(minor), nth);
        let (mode, strict) = (random.below(MODES.len()), random.chance(30));
        let is_valid = |documents: &[Tree]| {
            Report::validate(&Tree::write_all(documents), &talosctl.release, MODES[mode].1, strict).valid
        };
        let documents = configuration(&mut random, &corpus, minor, &is_valid);
        Verdict { talosctl: talosctl.clone(), documents, mode, strict }
    });
}

/// A configuration of the corpus with some random documents and changes.
///
/// Most things are wrong in most modes, and a second mistake hides behind the first: so a step is mostly one of several
/// that `is_valid` accepts.
pub(super) fn configuration(
    random: &mut Random,
    corpus: &[Vec<Tree>],
    minor: u16,
    is_valid: &dyn Fn(&[Tree]) -> bool,
) -> Vec<Tree> {
    let tries = |random: &mut Random| if random.chance(75) { 15 } else { 1 };
    let mut documents = first_valid(tries(random), is_valid, || random.pick(corpus).clone());
    for _ in 0..*random.pick(&[0, 0, 1, 1, 2, 4]) {
        documents = first_valid(tries(random), is_valid, || {
            let mut grown = documents.clone();
            grown.push(growth::document(random, minor));
            grown
        });
    }
    for _ in 0..*random.pick(&[0, 1, 1, 2, 3]) {
        let tries = if random.chance(50) { 8 } else { 1 };
        documents = first_valid(tries, is_valid, || {
            let mut changed = documents.clone();
            mutation::mutate(random, &mut changed, minor);
            changed
        });
    }
    documents
}

/// The first of several configurations that is valid, else the last.
pub(super) fn first_valid(
    tries: usize,
    is_valid: &dyn Fn(&[Tree]) -> bool,
    mut make: impl FnMut() -> Vec<Tree>,
) -> Vec<Tree> {
    let mut made = make();
    for _ in 1..tries {
        if is_valid(&made) {
            break;
        }
        made = make();
    }
    made
}

/// A configuration to validate.
#[derive(Clone)]
struct Verdict {
    talosctl: Arc<Talosctl>,
    documents: Vec<Tree>,
    mode: usize,
    strict: bool,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strict = if self.strict { ", strict" } else { "" };
        let text = Tree::write_all(&self.documents);
        write!(f, "{}, mode {}{strict}\n{text}", self.talosctl.release, MODES[self.mode].0)
    }
}

impl Case for Verdict {
    fn difference(&self) -> Option<String> {
        let text = Tree::write_all(&self.documents);
        let (name, mode) = MODES[self.mode];
        let folder = Workplace::new();
        folder.write("config.yaml", &text);
        let mut args = vec!["validate", "--config", "config.yaml", "--mode", name];
        args.extend(self.strict.then_some("--strict"));

        let talos = self.talosctl.run(&folder, &args);
        let ichor = Report::validate(&text, &self.talosctl.release, mode, self.strict);

        let differs = talos.is_ok() != ichor.valid;
        differs.then(|| format!("---- talosctl: {talos:?}\n---- ichor: {ichor:#?}"))
    }

    fn smaller(&self) -> Vec<Self> {
        let smaller = mutation::reductions(&self.documents).into_iter();
        smaller.map(|documents| Self { documents, ..self.clone() }).collect()
    }
}

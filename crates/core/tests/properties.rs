//! Invariants of any file: it is parsed or has problems, never both, never a panic; and printed, it reads the same.

use ichor_core::cluster::{File, Files};
use ichor_core::{model, plan};
use ichor_values::read::Read;
use ichor_values::schema::{FieldShape, Shape};
use proptest::prelude::*;

/// Runs everything that a command would do with a text.
fn exercise_cluster(text: &[u8]) -> Result<(), TestCaseError> {
    let loaded = ichor_testbed::load_text(text);
    let understood = loaded.problems.is_empty();
    prop_assert!(loaded.file.is_some() || !understood, "neither a file nor a problem");
    if understood {
        let file = loaded.file.as_ref().expect("asserted above");
        let printed = file.print().to_yaml();
        let again = ichor_testbed::load_text(printed.as_str());
        prop_assert!(again.problems.is_empty(), "{printed}: {:?}", again.problems);
        prop_assert_eq!(again.file.as_ref(), Some(file), "{}", printed);
    }
    match model::validate(loaded.file, loaded.problems) {
        Err(problems) => prop_assert!(!problems.is_empty()),
        Ok(cluster) => {
            let plan = plan::plan(&cluster);
            ichor_testbed::check(&(cluster, plan), &mut ichor_testbed::SingleFile(text.to_vec()));
        }
    }
    Ok(())
}

/// Choices of a test, one byte each; after the last byte, the smallest is chosen.
struct Dice<'d>(std::slice::Iter<'d, u8>);

impl Dice<'_> {
    fn roll(&mut self, sides: u8) -> u8 {
        self.0.next().map_or(0, |byte| byte % sides)
    }
}

/// A record with some of its keys, each with its example or with its own keys.
fn record(fields: &[FieldShape], dice: &mut Dice<'_>, depth: u8) -> String {
    let mut entries = Vec::new();
    for field in fields.iter().filter(|field| !field.example.is_empty() && field.name != "include") {
        if dice.roll(3) == 1 {
            entries.push(format!("{}: {}", field.name, value(field, dice, depth)));
        }
    }
    format!("{{{}}}", entries.join(", "))
}

fn value(field: &FieldShape, dice: &mut Dice<'_>, depth: u8) -> String {
    match ((field.shape)(), dice.roll(8)) {
        (_, 7) => "null".to_owned(),
        (Shape::Record { fields, .. }, 1..) if depth > 0 => record(&fields(), dice, depth - 1),
        _ => field.example.to_owned(),
    }
}

fn whole_file(dice: &mut Dice<'_>) -> String {
    let Shape::Record { fields, .. } = File::shape() else { unreachable!("a file is a record") };
    record(&fields(), dice, 4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_combination_of_keys_survives_printing(seed in prop::collection::vec(any::<u8>(), 0..600)) {
        let text = whole_file(&mut Dice(seed.iter()));
        let loaded = ichor_testbed::load_text(text.as_str());

        prop_assert!(loaded.problems.is_empty(), "{}: {:?}", text, loaded.problems);
        exercise_cluster(text.as_bytes())?;
    }

    #[test]
    fn any_text_is_parsed_or_has_problems(text in "[a-z:{}\\[\\],\"'&*!#|>%@`~<\\- \n\t0-9]{0,200}") {
        exercise_cluster(text.as_bytes())?;
    }

    #[test]
    fn any_bytes_are_parsed_or_have_problems(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise_cluster(&bytes)?;
    }

    #[test]
    fn a_corrupt_example_is_parsed_or_has_problems(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 1..12),
    ) {
        let examples = ichor_testbed::cases("../../../examples");
        let example = which.get(&examples);
        let mut bytes = ichor_testbed::FolderFiles(example.clone()).read("ichor.yaml").unwrap();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len().max(1));
            match kind {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte % 128),
                _ => bytes.truncate(at.max(1)),
            }
        }

        exercise_cluster(&bytes)?;
    }
}

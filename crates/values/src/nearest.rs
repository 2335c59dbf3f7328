//! Suggestions for misspelt words.

/// Ignored characters.
const SILENT: [char; 2] = ['-', '_'];

/// The known word closest to `word`, if one is close enough to suggest.
///
/// `-` and `_` and case do not count; otherwise about a third of the letters may differ.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let letters = length(word);
    if letters > 64 {
        return None;
    }
    let plain_word = plain(word);
    let near = known.into_iter().filter_map(|candidate| {
        let most = length(candidate).max(letters).div_ceil(3).min(4).min(letters.saturating_sub(1));
        let is_near = length(candidate).abs_diff(letters) <= most;
        let distance = is_near.then(|| strsim::osa_distance(&plain_word, &plain(candidate)))?;
        (distance <= most).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// The number of significant letters.
fn length(word: &str) -> usize {
    word.chars().filter(|letter| !SILENT.contains(letter)).count()
}

fn plain(word: &str) -> String {
    word.to_lowercase().replace(SILENT, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_neighbour() {
        let known = ["role", "routing", "router_id", "macs", "site"];

        assert_eq!(nearest("rol", known), Some("role"));
        assert_eq!(nearest("routerId", known), Some("router_id"));
        assert_eq!(nearest("roel", known), Some("role"));
        assert_eq!(nearest("mac", known), Some("macs"));
    }

    #[test]
    fn an_unrelated_word_has_no_neighbour() {
        assert_eq!(nearest("kernel", ["role", "macs"]), None);
        assert_eq!(nearest("x", ["asn", "v4"]), None);
    }

    proptest! {
        #[test]
        fn the_nearest_word_is_found(word in "[a-c_]{0,9}", known in prop::collection::vec("[a-c_]{1,9}", 1..6)) {
            let distance = |candidate: &str| strsim::osa_distance(&plain(&word), &plain(candidate));
            let most = |candidate: &str| length(candidate).max(length(&word)).div_ceil(3).min(length(&word).saturating_sub(1));

            let found = nearest(&word, known.iter().map(String::as_str));

            let near = known.iter().map(|candidate| (distance(candidate), most(candidate)));
            let nearest = near.filter(|(distance, most)| distance <= most).map(|(distance, _)| distance).min();
            prop_assert_eq!(found.map(distance), nearest);
        }
    }
}

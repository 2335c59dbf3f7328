//! The known word somebody probably meant.

/// The nearest of `known` to `word`, if one is near enough to be what was meant.
///
/// `-` and `_` and case do not count; otherwise about a third of the letters may differ.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = plain(word);
    if word.chars().count() > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| {
            *distance <= candidate.len().max(word.len()).div_ceil(3).min(4) && *distance < word.len().max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn plain(word: &str) -> String {
    word.to_lowercase().replace(['-', '_'], "")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_word_finds_its_neighbour() {
        let known = ["role", "routing", "router_id", "macs", "site"];

        assert_eq!(nearest("rol", known), Some("role"));
        assert_eq!(nearest("routerId", known), Some("router_id"));
        assert_eq!(nearest("roel", known), Some("role"));
        assert_eq!(nearest("mac", known), Some("macs"));
    }

    #[test]
    fn a_word_of_its_own_finds_none() {
        assert_eq!(nearest("kernel", ["role", "macs"]), None);
        assert_eq!(nearest("x", ["asn", "v4"]), None);
    }
}

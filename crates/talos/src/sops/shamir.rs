//! A data key that is split over several key groups, by Shamir's scheme in GF(2^8).

/// Combines shares: the last byte of each is its x coordinate; the secret is the polynomial's value at zero.
pub(super) fn combine(parts: &[Vec<u8>]) -> Option<Vec<u8>> {
    let length = parts.first()?.len().checked_sub(1)?;
    let places: Vec<u8> = parts.iter().filter_map(|part| part.last().copied()).collect();
    let unlike = places.iter().enumerate().all(|(nth, place)| !places[..nth].contains(place));
    if !unlike || places.contains(&0) || parts.iter().any(|part| part.len() != length + 1) {
        return None;
    }
    let byte = |nth: usize| {
        let weighted =
            parts.iter().zip(&places).map(|(part, place)| multiply(part[nth], weight(*place, &places)));
        weighted.fold(0, |sum, term| sum ^ term)
    };
    Some((0..length).map(byte).collect())
}

/// Lagrange's factor of one place for the value at zero.
fn weight(place: u8, places: &[u8]) -> u8 {
    let others = places.iter().filter(|other| **other != place);
    others.fold(1, |product, other| multiply(product, multiply(*other, invert(place ^ other))))
}

fn multiply(mut one: u8, mut other: u8) -> u8 {
    let mut product = 0;
    while other > 0 {
        if other & 1 == 1 {
            product ^= one;
        }
        // The polynomial of AES.
        one = (one << 1) ^ if one & 0x80 == 0 { 0 } else { 0x1b };
        other >>= 1;
    }
    product
}

/// The inverse is the 254th power.
fn invert(number: u8) -> u8 {
    (0..254).fold(1, |power, _| multiply(power, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of the lines and curves through the secret.
    fn part(secret: &[u8], slope: u8, place: u8) -> Vec<u8> {
        let mut part: Vec<_> = secret.iter().map(|byte| byte ^ multiply(slope, place)).collect();
        part.push(place);
        part
    }

    #[test]
    fn any_two_points_of_a_line_yield_its_value_at_zero() {
        let secret = [7, 0, 255, 42];
        let parts: Vec<_> = [1, 9, 200].map(|place| part(&secret, 0x53, place)).into();

        assert_eq!(combine(&parts[..2]), Some(secret.to_vec()));
        assert_eq!(combine(&parts[1..]), Some(secret.to_vec()));
        assert_eq!(combine(&parts), Some(secret.to_vec()));
    }

    #[test]
    fn mismatched_shares_are_rejected() {
        assert_eq!(combine(&[]), None);
        assert_eq!(combine(&[vec![1, 2], vec![1, 2]]), None);
        assert_eq!(combine(&[vec![1, 2], vec![1, 2, 3]]), None);
        assert_eq!(combine(&[vec![], vec![]]), None);
    }

    #[test]
    fn every_number_has_its_inverse() {
        assert!((1..=255).all(|number| multiply(number, invert(number)) == 1));
    }
}

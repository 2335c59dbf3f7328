//! What holds of every pair of configurations.

use ichor_core::cluster::section::Backend;
use ichor_core::reload::{Configuration, difference};

use crate::common::random::{Told, holds_for};

#[test]
fn nothing_has_to_change_where_nothing_is_different() {
    holds_for(100, Backend::Frr, |random| {
        for Told { service, .. } in random.told()? {
            let conf = Configuration::parse(&service.files[0].text);
            proptest::prop_assert_eq!(difference(&conf, &conf), []);
        }
        Ok(())
    });
}

//! Extensions that cannot be in one image.

use ichor_core::image::conflict::{Conflict, conflicts};
use ichor_core::image::extension::Extension;

use crate::extensions::extension;
use crate::segments::{assembled, base, published};

const SERVICE: &[u8] = b"name: bgp\ncontainer: {entrypoint: /x}\nrestart: always\n";

fn found(extensions: &[Extension], kernel: Option<&str>) -> Vec<String> {
    let base = base(&published()).unwrap();
    conflicts(extensions, &base, kernel).iter().map(Conflict::to_string).collect()
}

#[test]
fn extensions_that_have_nothing_to_do_with_each_other_have_no_conflict() {
    let (one, other) = (
        extension("one", &[("usr/local/one", b"1"), ("usr/local/lib/same", b"s")]),
        extension("other", &[("usr/local/other", b"2"), ("usr/local/lib/same", b"s")]),
    );

    assert_eq!(found(&[one, other], Some("6.12.45-talos")), [""; 0]);
}

#[test]
fn each_conflict_names_both_and_what_it_is_about() {
    let modules: &[(&str, &[u8])] = &[("usr/lib/modules/6.1.0/extra/x.ko", b"x")];
    for (one, other, kernel, said) in [
        (
            extension("one", &[("usr/local/x", b"1")]),
            extension("other", &[("usr/local/x", b"2")]),
            None,
            "one and other both have /usr/local/x, and not the same: one of them would be hidden",
        ),
        (
            extension("one", &[("usr/local/x/y", b"1")]),
            extension("other", &[("usr/local/x", b"2")]),
            None,
            "one and other both have /usr/local/x, and not the same: one of them would be hidden",
        ),
        (
            extension("one", &[("usr/local/etc/containers/bgp.yaml", SERVICE)]),
            extension("other", &[("usr/local/etc/containers/b.yaml", SERVICE)]),
            None,
            "one and other both have a service `bgp`, and the node starts one of them",
        ),
        (
            extension("one", &[]),
            extension("one", &[]),
            None,
            "the extension one is given twice, as v1.0 and as v1.0; take one away",
        ),
        (
            extension("one", &[]),
            extension("zfs", modules),
            Some("6.12.45-talos"),
            "zfs has modules for the kernel 6.1.0, and the image has the kernel 6.12.45-talos, which does not load them; want the build \
             of the extension for this release of Talos",
        ),
    ] {
        assert_eq!(found(&[one, other], kernel), [said]);
    }
}

#[test]
fn what_an_image_has_already_is_a_conflict() {
    let image = assembled(&published(), &[extension("frr", &[])]);
    let base = base(&image).unwrap();

    let found = conflicts(&[extension("frr", &[])], &base, None);

    assert_eq!(
        found,
        [Conflict::Present { name: "frr".to_owned(), versions: ["v1.0".to_owned(), "v1.0".to_owned()] }]
    );
}

//! The topology diagram: invariants of any cluster. The diagrams of single clusters are in `cases/`.

mod clusters;
mod picture;

use clusters::{draw, every_kind, routed};
use picture::Picture;

#[test]
fn boxes_do_not_overlap_and_are_inside_the_diagram() {
    for (name, text) in every_kind() {
        let svg = draw(&text);
        let picture = Picture::read(&svg);

        for kind in ["box", "frame"] {
            let areas = picture.areas(kind);
            for (nth, one) in areas.iter().enumerate() {
                assert!(one.is_inside(&picture.page), "{name}: {one:?}");
                for other in &areas[nth + 1..] {
                    assert!(!one.overlaps(other), "{name}: {one:?} and {other:?}");
                }
            }
        }
    }
}

#[test]
fn cards_are_inside_one_frame() {
    for (name, text) in every_kind() {
        let svg = draw(&text);
        let picture = Picture::read(&svg);
        let frames = picture.areas("frame");

        for card in picture.cards() {
            assert_eq!(frames.iter().filter(|frame| card.is_inside(frame)).count(), 1, "{name}: {card:?}");
        }
    }
}

#[test]
fn texts_are_legible_and_inside_their_boxes() {
    for (name, text) in every_kind() {
        let svg = draw(&text);

        for text in Picture::read(&svg).texts() {
            assert!(text.size >= 11, "{name}: {text:?}");
            assert!(text.area.is_inside(&text.around), "{name}: {text:?}");
        }
    }
}

#[test]
fn up_to_sixty_nodes_are_named() {
    for count in [1, 3, 8, 9, 50, 60] {
        let svg = draw(&routed(count));

        for nth in 1..=count {
            assert!(svg.contains(&format!(">n{nth:06}<")), "{nth} of {count}");
        }
    }
}

#[test]
fn many_equal_nodes_are_one_box() {
    let svg = draw(&routed(100));

    for text in ["3 control planes", "97 workers", "n000004 … n000100", "4210000004 … 4210000100"] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn a_diagram_of_twenty_thousand_nodes_is_small() {
    let svg = draw(&routed(20_000));

    assert!(svg.len() < 30_000, "{} bytes", svg.len());
    assert!(svg.contains("19997 workers"));
}

#[test]
fn a_diagram_of_a_thousand_sites_is_small() {
    let svg = draw(&clusters::sites(3000, 1000));

    assert!(svg.len() < 30_000, "{} bytes", svg.len());
    assert!(svg.contains("1000: site0 … site999"));
}

#[test]
fn markup_in_the_file_is_escaped() {
    let hostile = r#"</text><script>alert("&amp;")</script>"#;
    let vrf = hostile.replace('"', r#"\""#) + r"\x01";
    let text = routed(3).replace("asn: 65101", &format!("asn: 65101, vrf: \"{vrf}\""));

    let svg = draw(&text);

    let picture = Picture::read(&svg);
    assert!(picture.all_titles().any(|title| title.contains(hostile)));
    assert!(!svg.contains("<script"));
}

#[test]
fn the_same_cluster_gives_the_same_bytes() {
    for (name, text) in every_kind() {
        assert_eq!(draw(&text), draw(&text), "{name}");
    }
}

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;
use ichor_talos::go::base64;
use ichor_talos::meta;
use ichor_values::Mac;

fn inspected(text: &str) -> Inspection {
    let mac = Mac::parse("52:54:00:00:01:0b").unwrap();
    let links = vec![Link { name: "eth0".to_owned(), mac }];
    let machine = TargetMachine { talos: TalosVersion::parse("v1.13.9").unwrap(), links };
    inspect(&BootMedia::of_command_line(text), &machine).unwrap()
}

fn packed(text: &str) -> String {
    base64::encode(compress_to_vec(text.as_bytes(), CompressionLevel::Fastest))
}

fn hostname(name: &str) -> String {
    packed(&format!("apiVersion: v1alpha1\nkind: HostnameConfig\nauto: \"off\"\nhostname: {name}\n"))
}

fn rules(inspection: &Inspection) -> Vec<&str> {
    inspection.mistakes.iter().map(|mistake| mistake.rule.id).collect()
}

#[test]
fn later_sources_replace_earlier_ones() {
    let (early, late) = (hostname("early"), hostname("late"));

    let both = inspected(&format!(
        "talos.platform=metal talos.hostname=line talos.config.early={early} talos.config.inline={late}"
    ));
    let one = inspected(&format!("talos.platform=metal talos.config.early={early}"));

    assert_eq!((both.hostname().as_deref(), both.outcome()), (Some("late"), BootOutcome::Maintenance));
    assert_eq!(one.hostname().as_deref(), Some("early"));
}

#[test]
fn an_invalid_source_stops_the_search() {
    let inspection = inspected(&format!(
        "talos.platform=metal talos.config.early=x talos.config.inline={}",
        hostname("late")
    ));

    assert_eq!((inspection.outcome(), inspection.hostname()), (BootOutcome::Loops, None));
    assert_eq!(rules(&inspection), ["media-config-refused"]);
}

#[test]
fn url_variables_are_expanded_with_values_of_the_machine() {
    let inspection = inspected("talos.platform=metal talos.config=http://a/c?m=${mac}&u=${uuid}");

    let url = "http://a/c?m=52%3A54%3A00%3A00%3A01%3A0b&u=%24%7Buuid%7D";
    assert_eq!(inspection.sources[3].verdict, ConfigSourceResult::Elsewhere(url.to_owned()));
    assert_eq!(inspection.outcome(), BootOutcome::Depends);
    assert_eq!(
        rules(&inspected("talos.platform=metal talos.config=http://a/${mac}")),
        ["media-url-variable"]
    );
}

#[test]
fn the_command_line_can_contain_a_network() {
    let values = [meta::Value { key: 10, value: "hostnames: [{hostname: a}]".to_owned() }];
    let carried = meta::kernel_argument(&meta::encode(&values, false));

    let inspection = inspected(&format!("talos.platform=metal talos.hostname=b {carried}"));

    assert_eq!(inspection.hostname().as_deref(), Some("a"));
    assert_eq!(inspection.network.unwrap()["metadata"]["hostname"], "b");
}

#[test]
fn problems_are_reported() {
    assert_eq!(rules(&inspected("quiet")), ["media-no-platform"]);
    assert_eq!(rules(&inspected("talos.platform=bare")), ["media-platform-unknown"]);
    assert_eq!(rules(&inspected("talos.platform=nocloud talos.config=http://a")), ["media-config-unused"]);
    let long = format!("talos.platform=metal x={}", "y".repeat(2047));
    assert_eq!(rules(&inspected(&long)), ["media-command-line-long"]);
}

#[test]
fn arguments_beyond_the_limit_of_the_kernel_are_ignored() {
    let fill = "y".repeat(2047);
    let platform = inspected(&format!("x={fill} talos.platform=metal"));
    let config = inspected(&format!("talos.platform=metal talos.config.inline={}{fill}", hostname("a")));
    let url = inspected(&format!("talos.platform=metal x={fill} talos.config=http://a/"));

    assert_eq!(platform.outcome(), BootOutcome::Loops);
    assert_eq!(rules(&platform), ["media-command-line-long", "media-no-platform"]);
    assert_eq!((config.outcome(), config.hostname()), (BootOutcome::Loops, None));
    assert_eq!(url.outcome(), BootOutcome::Maintenance);
}

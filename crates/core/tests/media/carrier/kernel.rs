//! Configurations on the kernel command line.

use ichor_image::inspect::{BootMedia, BootOutcome, ConfigSourceResult, TargetMachine, inspect};
use ichor_talos::command_line::{CommandLine, LONGEST};

use super::rendered::of_text;
use ichor_testbed::findings_of_text;

fn text(from: &str, more: &str) -> String {
    format!(
        "cluster: {{name: a, id: 1, talos: v1.13.9}}\nboot: {{from: {from}}}\n\
         defaults: {{platform: metal, install: {{disk: /dev/sda}}{more}}}\nnodes: [{{name: a, role: controlplane, index: 1}}]"
    )
}

#[test]
fn talos_finds_the_configuration_on_the_command_line() {
    for (from, key) in [("early", "talos.config.early"), ("inline", "talos.config.inline")] {
        let carried = of_text(&text(from, ", kernel: {args: [console=ttyS0, quiet]}"));

        let line = carried.text("cmdline");

        let machine = TargetMachine { talos: carried.node.talos.value.clone(), links: Vec::new() };
        let inspection = inspect(&BootMedia::of_command_line(line), &machine).unwrap();
        assert!(inspection.mistakes.is_empty(), "{:?}", inspection.mistakes);
        assert_eq!((inspection.platform.as_str(), inspection.outcome()), ("metal", BootOutcome::Maintenance));
        let source = inspection.sources.iter().find(|source| source.name == key).unwrap();
        assert!(matches!(source.verdict, ConfigSourceResult::Partial(_)), "{:?}", source.verdict);
        let carried_text = CommandLine::parse(line).inline(key).unwrap().unwrap();
        assert_eq!(carried_text, carried.boot.as_bytes());
        assert!(line.starts_with("talos.platform=metal console=ttyS0 init_on_alloc=1 "), "{line}");
        assert!(line.contains(" quiet talos.config."), "{line}");
    }
}

#[test]
fn a_command_line_that_a_kernel_would_truncate_is_rejected() {
    let with = |length: usize| {
        let args = format!(", kernel: {{args: [a={}]}}", "x".repeat(length));
        of_text(&text("early", &args))
    };
    let room = LONGEST - 64 - with(1).text("cmdline").trim_end().len() + 1;

    let (fits, cut) = (with(room), with(room + 1));

    assert_eq!(fits.text("cmdline").trim_end().len() + 64, LONGEST);
    let reason = cut.refusal();
    assert!(
        reason.starts_with("nodes.a.boot.from: early: the command line would have 2048 bytes"),
        "{reason}"
    );
    assert!(reason.contains("cuts it at 2047") && reason.ends_with("use `boot.from: metal-iso`"), "{reason}");
}

#[test]
fn a_command_line_too_long_without_the_configuration_is_a_finding() {
    let args = |length: usize| format!(", kernel: {{args: [a={}]}}", "x".repeat(length));
    let reported = |text: &str| -> Vec<String> {
        let findings =
            findings_of_text(text).into_iter().filter(|finding| finding.rule.id == "command-line-long");
        findings.map(|finding| finding.issue.headline()).collect()
    };

    let long = reported(&text("apply", &args(1_800)));
    let short = reported(&text("apply", &args(1_500)));
    let meta = reported(&text("meta", &args(1_500)));

    assert!(
        long[0].contains("kernel.args: ")
            && long[0].contains(" bytes, including 64 reserved for the boot loader"),
        "{long:?}"
    );
    assert_eq!(short, Vec::<String>::new());
    assert!(meta[0].contains("boot.from: ") && meta[0].contains("with META, as on an ISO"), "{meta:?}");
}

#[test]
fn a_machine_that_boots_an_iso_has_no_command_line() {
    let reported = |more: &str| {
        findings_of_text(&text("early", more)).iter().any(|finding| {
            finding.rule.id == "boot-carrier" && finding.issue.message.contains("its own kernel command line")
        })
    };

    assert!(reported(", vm: {cores: 2}"));
    assert!(!reported(", vm: {cores: 2, boot: [disk, net]}"));
    assert!(!reported(", vm: {cores: 2, args: [-kernel, vmlinuz]}"));
    assert!(!reported(""));
}

//! Schematics: the keys and values that the Image Factory accepts, and texts that its releases treat differently.

use serde_json::Value;

use crate::cluster::section::ImageSource;
use crate::plan::ImagePlan;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::document;
use ichor_talos::schematic::{CUSTOMIZATION, FactoryIssue, Schematic};
use ichor_values::go_yaml::emit;
use ichor_values::nearest;

pub(super) const RULES: &[Rule] = &[SCHEMATIC_INVALID, SCHEMATIC_UNREADABLE, SCHEMATIC_ID_VARIES];

const SCHEMATIC_INVALID: Rule = Rule {
    id: "schematic-invalid",
    severity: Severity::Error,
    summary: "a schematic has a key or value that the Image Factory does not know",
    failure: "The factory reads schematics strictly and answers 400 to an unknown key. The error appears only when the \
              images are downloaded, for example during an upgrade.",
    fix: "use the keys of Image Factory's schematics: `overlay` and `customization`",
    check: check_schematic_invalid,
};

const SCHEMATIC_UNREADABLE: Rule = Rule {
    id: "schematic-unreadable",
    severity: Severity::Error,
    summary: "a schematic has a text that the Image Factory stores in a form it cannot read",
    failure: "The factory stores a schematic as its YAML library writes it, and the library cannot read some texts of \
              several lines. The factory rejects the schematic, or registers it and answers 400 to every request for an \
              image.",
    fix: "start the text with a line that is not indented",
    check: |context, findings| {
        check_texts(context, findings, |issue| matches!(issue, FactoryIssue::Unreadable { .. }));
    },
};

const SCHEMATIC_ID_VARIES: Rule = Rule {
    id: "schematic-id-varies",
    severity: Severity::Warning,
    summary: "the ID of a schematic depends on the release of the Image Factory",
    failure: "The ID is the hash of the schematic as the factory's YAML library writes it. Image Factory 0.9 to 1.4 puts \
              other quotes around words such as `yes`, `on`, `12:30:45` and `<<` than later releases, whose ID ichor \
              computes. At such a factory the installer and images under ichor's ID do not exist.",
    fix: "avoid the word, for example `a=yes` instead of `yes`, or run `ichor schematic register`, which fails if your \
          factory computes another ID, and silence the finding",
    check: |context, findings| {
        check_texts(context, findings, |issue| matches!(issue, FactoryIssue::OtherId { .. }));
    },
};

/// Maps and the keys that they may have.
const MAPS: [(&str, &[&str]); 6] = [
    ("", &["owner", "overlay", "customization"]),
    ("overlay", &["image", "name", "options"]),
    ("customization", &CUSTOMIZATION),
    ("customization.systemExtensions", &["officialExtensions"]),
    ("customization.secureboot", &["enrollKeys", "includeWellKnownCertificates"]),
    ("customization.diskImage", &["sectorSize"]),
];

/// Keys and the words that they may have.
const WORDS: [(&str, &[&str]); 2] = [
    ("customization.bootloader", &["none", "dual-boot", "grub", "sd-boot"]),
    ("customization.secureboot.enrollKeys", &["off", "manual", "if-safe", "force"]),
];

fn check_schematic_invalid(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let Some(schematic) = node.written().image.get().and_then(|image| image.schematic.at()) else {
            continue;
        };
        for fault in faults(&document::from_any(schematic.value)) {
            problems.add_message("image.schematic", Some(schematic.place), fault, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

/// Reports the texts of `image.schematic` and `kernel.args` that have an issue of this kind.
fn check_texts(context: &RuleContext<'_>, findings: &mut Findings, concerns: fn(&FactoryIssue) -> bool) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        if node.boot.image.value != ImagePlan::Made(ImageSource::Factory) {
            continue;
        }
        let written = node.written();
        if let Some(at) = written.image.get().and_then(|image| image.schematic.at()) {
            // `schematic-invalid` reports one that cannot be read.
            let schematic = Schematic::read(&emit::emit(&document::from_any(at.value))).unwrap_or_default();
            for issue in schematic.factory_issues().into_iter().filter(concerns) {
                problems.add_message("image.schematic", Some(at.place), issue.to_string(), &kind.nodes);
            }
        }
        for arg in written.kernel.get().into_iter().flat_map(|kernel| kernel.args.items()) {
            let alone =
                Schematic { kernel_args: vec![arg.value.as_str().to_owned()], ..Schematic::default() };
            for issue in alone.factory_issues().into_iter().filter(concerns) {
                let message = issue.at("kernel.args").to_string();
                problems.add_message("kernel.args", Some(arg.place), message, &kind.nodes);
            }
        }
    }
    problems.report(context, findings);
}

fn value_at<'v>(schematic: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').filter(|step| !step.is_empty()).try_fold(schematic, |value, step| value.get(step))
}

fn faults(schematic: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, known) in MAPS {
        let Some(value) = value_at(schematic, path) else { continue };
        let Some(map) = value.as_object() else {
            faults.push(format!("{} is not a map", if path.is_empty() { "the schematic" } else { path }));
            continue;
        };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let near = nearest(key, known.iter().copied());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            faults.push(format!("the Image Factory does not know `{at}`{hint}"));
        }
    }
    for (path, known) in WORDS {
        let word = value_at(schematic, path).map(|value| value.as_str().unwrap_or_default());
        if let Some(word) = word.filter(|word| !known.contains(word)) {
            faults.push(format!("`{path}: {word}` is not one of {}", known.join(", ")));
        }
    }
    for (nth, meta) in document::items(schematic, "/customization/meta") {
        if meta.get("key").and_then(Value::as_u64).is_none_or(|key| key > 255) {
            faults.push(format!("customization.meta[{nth}].key is not a number up to 255"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schematic_with_every_known_key_passes() {
        let schematic = json!({"overlay": {"image": "siderolabs/sbc-raspberrypi", "name": "rpi_generic", "options": {"x": 1}},
            "customization": {"extraKernelArgs": ["vga=791"], "meta": [{"key": 10, "value": "foo"}], "bootloader": "sd-boot",
            "systemExtensions": {"officialExtensions": ["siderolabs/tailscale"]}, "secureboot": {"enrollKeys": "if-safe"}}});

        assert_eq!(faults(&schematic), Vec::<String>::new());
    }

    #[test]
    fn unknown_keys_are_reported_with_their_path() {
        let schematic = json!({"customisation": {}, "customization": {"bootloader": "lilo", "systemExtensions": {"official": []},
            "meta": [{"key": 300, "value": ""}]}});

        let want = [
            "the Image Factory does not know `customisation`; did you mean `customization`?",
            "the Image Factory does not know `customization.systemExtensions.official`",
            "`customization.bootloader: lilo` is not one of none, dual-boot, grub, sd-boot",
            "customization.meta[0].key is not a number up to 255",
        ];
        assert_eq!(faults(&schematic), want);
    }
}

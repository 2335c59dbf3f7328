//! Secrets that are written out: in patches, those named as encrypted too, in schematics and on the kernel command line.
//!
//! Findings name the key and never the value.

use crate::model::rung;
use crate::rules::{Context, Found, Rule, Severity};
use ichor_talos::secret_value;
use ichor_talos::sops;
use ichor_values::Either;

pub(super) const RULES: &[Rule] = &[SECRET_IN_PATCH, PATCH_NOT_ENCRYPTED];

const SECRET_IN_PATCH: Rule = Rule {
    id: "secret-in-patch",
    severity: Severity::Error,
    summary: "a secret is written out in a patch",
    story: "The Tailscale key went into a patch \"for now\", and the folder into a public repository. Keys in a history are \
            found by machines within minutes, and every node that ever had it must be given a new one.",
    fix: "encrypt the patch with SOPS and name it as `{sops: FILE}`, or use the key of the cluster file that takes a \
          reference, such as `overlay.tailscale.key`",
    look: secret_in_patch,
};

const PATCH_NOT_ENCRYPTED: Rule = Rule {
    id: "patch-not-encrypted",
    severity: Severity::Error,
    summary: "a patch that is named as encrypted is in the clear",
    story: "Somebody decrypts the patch in place to change a key, and commits it so. The cluster file still says \
            `{sops: …}`, which every reader takes for a promise, and nobody looks inside again.",
    fix: "encrypt it in place with `sops encrypt -i FILE`, and give new values to secrets that were written out; a patch \
          without secrets is named as FILE alone",
    look: patch_not_encrypted,
};

fn patch_not_encrypted(context: &Context<'_>, found: &mut Found) {
    for step in rung::all(context.cluster) {
        for (nth, patch) in step.rung.patches.items().enumerate() {
            let Either::Record(source) = &patch.value else { continue };
            let Some(file) = source.sops.at() else { continue };
            let text = context.attachments.texts.get(file.value.as_str());
            if matches!(text, Some(Ok(text)) if !sops::is_sealed(text)) {
                let key = step.path(&format!("patches[{nth}].sops"));
                found.at(key, file.place, format!("{} is not in the SOPS format", file.value));
            }
        }
    }
}

fn secret_in_patch(context: &Context<'_>, found: &mut Found) {
    for patch in context.attachments.patches.iter() {
        for key in patch.documents().iter().flat_map(secret_value::paths) {
            found.at(&patch.key, patch.place, patch.says(format!("{key} is a secret, and written out")));
        }
    }
}

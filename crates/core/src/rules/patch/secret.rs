//! Clear-text secrets in patches.
//!
//! Findings name the key and never the value.

use crate::model::layer;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::secret_value;
use ichor_talos::sops;
use ichor_values::WordOrRecord;

pub(super) const RULES: &[Rule] = &[SECRET_IN_PATCH, PATCH_NOT_ENCRYPTED];

const SECRET_IN_PATCH: Rule = Rule {
    id: "secret-in-patch",
    severity: Severity::Error,
    summary: "a patch contains a secret in clear text",
    failure: "Everyone who can read the repository can read the secret, even after a later commit removes it. It must \
              then be replaced on every node that has it.",
    fix: "encrypt the patch with SOPS and name it as `{sops: FILE}`, or use the key of the cluster file that takes a \
          reference, such as `overlay.tailscale.key`",
    check: check_secret_in_patch,
};

const PATCH_NOT_ENCRYPTED: Rule = Rule {
    id: "patch-not-encrypted",
    severity: Severity::Error,
    summary: "a patch that is named as encrypted is in clear text",
    failure: "A patch that was decrypted in place to change a key exposes its secrets, while `{sops: …}` in the \
              cluster file says that it is encrypted.",
    fix: "encrypt it in place with `sops encrypt -i FILE`, and replace secrets that were in clear text; name a patch \
          without secrets as FILE alone",
    check: check_patch_not_encrypted,
};

fn check_patch_not_encrypted(context: &RuleContext<'_>, findings: &mut Findings) {
    for layer in layer::all_layers(context.cluster) {
        for (nth, patch) in layer.settings.patches.items().enumerate() {
            let WordOrRecord::Record(source) = &patch.value else { continue };
            let Some(file) = source.sops.at() else { continue };
            let text = context.attachments.texts.get(file.value.as_str());
            if matches!(text, Some(Ok(text)) if !sops::is_sealed(text)) {
                let key = layer.path(&format!("patches[{nth}].sops"));
                findings.add(key, file.place, format!("{} is not encrypted with SOPS", file.value));
            }
        }
    }
}

fn check_secret_in_patch(context: &RuleContext<'_>, findings: &mut Findings) {
    for patch in context.attachments.patches.iter() {
        for key in patch.documents().iter().flat_map(secret_value::paths) {
            findings.add(&patch.key, patch.place, patch.message(format!("{key} is a secret in clear text")));
        }
    }
}

//! Any text is a kubeconfig or an error, never a panic; what was merged once is merged a second time to the same.
#![no_main]

use ichor_core::bringup::kubeconfig::{has_access, merge, remove_cluster};
use ichor_talos::kubeconfig::unpack;
use ichor_talos::secrets::Pem;
use ichor_values::Moment;

const OURS: &str = "apiVersion: v1\nkind: Config\nclusters: [{name: sol, cluster: {server: \"https://10.0.0.1:6443\"}}]\n\
                    contexts: [{name: admin@sol, context: {cluster: sol, user: admin@sol}}]\nusers: [{name: admin@sol, user: {}}]\n\
                    current-context: admin@sol\n";

libfuzzer_sys::fuzz_target!(|text: &str| {
    let now = Moment::from_unix(1_769_860_800).expect("in 2026");
    let authority = Pem::new("CERTIFICATE", b"none");
    let _ = has_access(text, "https://10.0.0.1:6443", &authority, now);
    let _ = remove_cluster(text, &authority);
    let _ = unpack(text.as_bytes());
    let _ = merge(OURS, text);
    if let Ok(merged) = merge(text, OURS) {
        assert_eq!(merge(&merged, OURS), Ok(merged));
    }
});

//! Speakers in a VRF with real daemons, in a kernel with VRFs. Needs root, `scripts/tools frr bird`,
//! `scripts/lab-root` and `scripts/lab-vm`.

mod lab {
    mod examples;
    mod holds;
    mod kernel;
    mod node;
    mod router;
    mod topology;
}

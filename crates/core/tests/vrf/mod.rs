//! What is told to daemons for a speaker in a VRF, done by them in a kernel that has VRFs. Needs root, `scripts/tools frr bird`,
//! `scripts/lab-root` and `scripts/lab-vm`.

mod lab {
    mod examples;
    mod holds;
    mod kernel;
    mod node;
    mod router;
    mod scene;
}

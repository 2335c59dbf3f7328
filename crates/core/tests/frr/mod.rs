//! FRR's syntax check of its configuration, and its behaviour. Needs root, `scripts/tools frr` and `scripts/lab-root`.

mod lab {
    mod grammar;
    mod random;
    mod running;
    mod session;
}

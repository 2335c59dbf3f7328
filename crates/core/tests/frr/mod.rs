//! What FRR itself says of what it is told, and what it then does. Needs root, `scripts/tools frr` and `scripts/lab-root`.

mod lab {
    mod grammar;
    mod random;
    mod running;
    mod session;
}

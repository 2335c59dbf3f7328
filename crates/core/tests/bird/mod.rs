//! BIRD's configuration, its syntax check and its behaviour. The tests in `lab` need root, `scripts/tools frr bird` and
//! `scripts/lab-root`.

mod config;

mod lab {
    mod bird;
    mod fabric;
    mod grammar;
    mod numbered;
    mod random;
    mod running;
    mod unnumbered;
}

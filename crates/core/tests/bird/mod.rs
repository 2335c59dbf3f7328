//! What BIRD is told, what it says of that itself, and what it then does. The tests in `lab` need root, `scripts/tools frr bird` and
//! `scripts/lab-root`.

mod told;

mod lab {
    mod bird;
    mod fabric;
    mod grammar;
    mod numbered;
    mod random;
    mod running;
    mod unnumbered;
}

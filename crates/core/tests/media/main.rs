//! Volumes: what is written is read back as it was, by ourselves, and in `lab` by the programs that others use for it. The tests
//! in `lab` need `scripts/tools iso fat`.

mod volumes;

mod hostile;
mod written;

mod lab {
    mod fat;
    mod iso9660;
    mod others;
    mod tools;
}

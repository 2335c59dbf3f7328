//! Turning one running configuration of FRR into another: by text, and on real daemons.

mod property;

mod lab {
    mod beside;
    mod daemons;
    mod pairs;
    mod session;
    mod template;
}

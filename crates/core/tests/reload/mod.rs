//! Turning one configuration of FRR into another while it runs: by the words alone, and on real daemons.

mod property;

mod lab {
    mod beside;
    mod daemons;
    mod pairs;
    mod session;
    mod template;
}

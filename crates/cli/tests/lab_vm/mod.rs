//! Labs in a virtual machine, where commands behave as on the host.

mod lab;

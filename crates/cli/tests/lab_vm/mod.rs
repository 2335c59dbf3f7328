//! Labs in a virtual machine: commands there are as commands here.

mod lab;

//! Kubernetes objects of a build, at a real API server.

mod lab;

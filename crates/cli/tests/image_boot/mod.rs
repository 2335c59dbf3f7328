//! Images with extensions in them: `ichor image build`, and machines that boot what it makes.

mod lab;

//! Tests of this crate, by what they are about.

mod effects;

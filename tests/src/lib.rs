//! Helpers for the stories.

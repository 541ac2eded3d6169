//! Conditions of rules.

/// A compiled condition.
#[derive(Debug)]
pub(crate) struct When;

impl When {
    /// Reads a condition.
    pub(crate) fn compile(_text: &str) -> Result<When, Vec<String>> {
        Err(vec!["conditions are not enforced yet".to_owned()])
    }
}

//! Which boot of the machine this is: marks on the disk's cache are worth nothing after a power loss.

use sha2::{Digest, Sha256};

/// Names one boot of this machine; equal only within the same boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BootId(pub(crate) [u8; 7]);

impl BootId {
    /// A boot by any text that is unique to it.
    pub fn of(text: &str) -> BootId {
        let digest = Sha256::digest(text.trim().as_bytes());
        let mut id = [0; 7];
        id.copy_from_slice(&digest[..7]);
        BootId(id)
    }

    /// The boot that we are in. None where the system doesn't tell: every run then counts as another boot.
    pub fn current() -> Option<BootId> {
        #[cfg(target_os = "linux")]
        return std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|text| BootId::of(&text));
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    pub(crate) fn to_hex(self) -> String {
        crate::chain::hex(&self.0)
    }
}

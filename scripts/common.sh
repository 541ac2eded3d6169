# Shared by the scripts: where things are, and how progress is shown. Sourced, never run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT="$PWD"
# A build folder outside the clone may be given, so that a fresh clone does not build everything again.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$ROOT/target}"
# Downloaded test packages; safe to delete.
CACHE="${CALLGATE_TEST_CACHE:-$CARGO_TARGET_DIR/test-packages}"
STARTED=$SECONDS

step() { printf '\n\033[1m== %s\033[0m  (%d s)\n' "$*" "$((SECONDS - STARTED))"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# Installs a Debian package where its command is missing.
need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 && return
    local as_root=""
    [ "$(id -u)" = 0 ] || as_root="sudo"
    step "installing $2"
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "$2"
}

# What building needs beyond the Rust tool-chain: a C compiler for the bundled SQLite and for TLS.
build_tools() {
    command -v cargo >/dev/null 2>&1 || die "Rust is missing: install rustup and a stable tool-chain (1.95 or newer) first."
    need cc build-essential
    need python3 python3
}

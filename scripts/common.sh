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
    command -v "$1" >/dev/null 2>&1 || install_package "$2"
}

install_package() { # PACKAGE
    local as_root=""
    [ "$(id -u)" = 0 ] || as_root="sudo"
    step "installing $1"
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "$1"
}

# Installs into a folder of CACHE unless that was done for the same lock files; a registry may fail now and then.
once() { # FOLDER FUNCTION FILE...
    local folder="$CACHE/$1" fill="$2" stamp try
    shift 2
    stamp="$(cat "$@" | sha256sum | cut -c1-32)"
    mkdir -p "$CACHE"
    exec 9> "$folder.lock"
    flock 9
    if [ "$(cat "$folder/.complete" 2>/dev/null)" != "$stamp" ]; then
        for try in 1 2 3; do
            rm -rf "$folder"
            mkdir -p "$folder"
            if "$fill" "$folder" "$@" >&2; then
                echo "$stamp" > "$folder/.complete"
                break
            fi
            [ "$try" != 3 ] || die "could not fill $folder"
            echo "trying again" >&2
        done
    fi
    exec 9>&-
}

npm_packages() { # FOLDER PACKAGE_JSON LOCK
    cp "$2" "$3" "$1/"
    npm ci --prefix "$1" --no-audit --no-fund --ignore-scripts --loglevel=error --fetch-retries=4
}

python_packages() { # FOLDER REQUIREMENTS
    "$PYTHON" -m venv "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: --retries 5 --timeout 60 -r "$2"
}

# Real servers, client libraries and the conformance suite from npm; sets NODE to a Node new enough for all of them.
test_node() {
    need npm npm
    once npm npm_packages tests/real/package.json tests/real/package-lock.json
    NODE="$(command -v node || true)"
    if [ -z "$NODE" ] || ! "$NODE" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)'; then
        NODE="$(ls "$CACHE"/npm/node_modules/node-linux-*/bin/node 2>/dev/null | head -n 1)"
        [ -x "$NODE" ] || die "Node 22.19 or newer is needed here"
    fi
}

# Real servers and the client library from PyPI, on two generations of the SDK.
test_python() {
    PYTHON=""
    for candidate in python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            PYTHON="$candidate"
            break
        fi
    done
    [ -n "$PYTHON" ] || die "Python 3.11 or newer is needed"
    "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || install_package python3-venv
    once python python_packages tests/real/requirements.txt &
    local newer=$!
    once python-older python_packages tests/real/requirements-older.txt &
    wait $! && wait "$newer"
}

# What the tests of the crates need beyond a build: a terminal to type in.
test_tools() {
    need tmux tmux
}

# What building needs beyond the Rust tool-chain: a C compiler for the bundled SQLite and for TLS.
build_tools() {
    command -v cargo >/dev/null 2>&1 || die "Rust is missing: install rustup and a stable tool-chain (1.95 or newer) first."
    need cc build-essential
    need python3 python3
}

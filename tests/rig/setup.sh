#!/usr/bin/env bash
# Gets a Debian machine that has git, make and rustup ready to build, test and show Tidegate.
# Run it by `make setup`. It looks before it installs: a second run takes a second, changes nothing
# and needs no network. As root or with sudo; without either it says what to install.
#
# RUST_WASM_OFFLINE=1: do not ask rustup for the WebAssembly target but build its standard
# library with Debian's rustc, for machines that reach package mirrors only.
set -euo pipefail
cd "$(dirname "$0")/../.."

RIG=${RIG:-target/rig}
say() { echo "setup: $*" >&2; }
die() { echo "setup: $*" >&2; exit 1; }
has() { command -v "$1" >/dev/null; }

# A step STEP has two functions: STEP_ready looks and succeeds if there is nothing to do; install_STEP
# does it.

missing_packages() {
  has cc && has c++ || echo build-essential
  python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
  if [ "${RUST_WASM_OFFLINE:-}" = 1 ]; then
    [ -x /usr/bin/rustc ] || echo rustc-web
    [ -x /usr/bin/cargo ] || echo cargo-web
    [ -e "$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std/Cargo.toml" ] || echo rust-web-src
    has wasm-ld-19 || echo lld-19
  fi
}

packages_ready() { [ -z "$(missing_packages)" ]; }

rust_ready() { cargo --version && cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1

wasm_ready() {
  [ "${RUST_WASM_OFFLINE:-}" = 1 ] ||
    compgen -G "$(rustc --print target-libdir --target wasm32-unknown-unknown)/libcore-*.rlib" >/dev/null
}

mariadb_ready() { [ -e "$RIG/mariadb/complete" ]; }

readers_ready() { tests/rig/readers.sh --check "$RIG/venv"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif has sudo; then sudo "$@"
  else die "needs root for: $*"
  fi
}

# Another package manager may be at work on the machine: wait for it instead of failing.
apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@"; }

# The package lists are fetched once a run, and only if something has to be installed.
apt_update() {
  [ -z "${lists_fresh:-}" ] || return 0
  apt update
  lists_fresh=1
}

install_packages() {
  apt_update
  # shellcheck disable=SC2046 # a list of words
  apt install -y --no-install-recommends $(missing_packages)
}

install_rust() { rustup toolchain install; }

install_wasm() { rustup target add wasm32-unknown-unknown; }

install_mariadb() {
  tests/rig/mariadb.sh install "$RIG/mariadb" || {
    apt_update
    tests/rig/mariadb.sh install "$RIG/mariadb"
  }
}

install_readers() { tests/rig/readers.sh "$RIG/venv"; }

has rustup || has cargo || die "no Rust found; install rustup first, then run \`make setup\` again"
has apt-get || die "this script knows Debian's package manager only; docs/contributing.md lists what has to be there"

todo=()
packages_ready || todo+=(packages)
rust_ready || todo+=(rust)
wasm_ready || todo+=(wasm)
mariadb_ready || todo+=(mariadb)
readers_ready || todo+=(readers)

[ ${#todo[@]} -gt 0 ] || { say "everything is there"; exit 0; }

say "will install what is missing:"
for step in "${todo[@]}"; do
  case $step in
    packages) say "  packages of the system: $(missing_packages | xargs) (about a minute; needs root)" ;;
    rust) say "  the Rust toolchain that rust-toolchain.toml names (about a minute)" ;;
    wasm) say "  the target wasm32-unknown-unknown for Rust (some seconds)" ;;
    mariadb) say "  a MariaDB server for tests and demo, unpacked into $RIG/mariadb only (about 15 seconds, 125 MB)" ;;
    readers) say "  DuckDB and pyarrow, which read what the agent wrote, in $RIG/venv only (about 15 seconds, 230 MB)" ;;
  esac
done
for step in "${todo[@]}"; do
  say "$step …"
  "install_$step" >&2
done
say "done"

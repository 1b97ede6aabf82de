#!/bin/sh
# Builds a Rust transform for wasm32-unknown-unknown and encodes it as a component.
#
#   rust-wasm.sh build CRATE_DIR [OUT.wasm]   default OUT: <target folder>/<crate>.wasm
#   rust-wasm.sh core  CRATE_DIR [OUT.wasm]   the core module only (no encoder needed)
#   rust-wasm.sh std                          only make sure that a standard library is there
#   rust-wasm.sh which                        say which way would be used: installed | system | cached | build-std | none
#
# CRATE_DIR may be a crate of its own or a member of a workspace. The profile is `guest` where the workspace
# defines it, else `release`. The target folder is <workspace>/target/guest-<way>, so that neither the main
# toolchain's artifacts nor those of another way are disturbed.
#
# Where the standard library comes from, first hit wins:
#   installed   the rustc in PATH has the target; if it has not and rustup is there, `rustup target add` is tried once
#               (RUST_WASM_OFFLINE=1: not tried)
#   system      the system's rustc has it (Fedora, Arch and Debian testing package it)
#   cached      an earlier build-std of the system's rustc, kept in RUST_WASM_CACHE
#   build-std   the system's rustc + cargo + library source (Debian: rustc-web cargo-web rust-web-src
#               lld-19), built once, about one minute of CPU, then kept in RUST_WASM_CACHE
# Environment: RUST_WASM_CACHE (default ~/.cache/rust-wasm), RUST_WASM_SYSTEM (default /usr/bin), RUST_WASM_LINKER,
# CARGO_TARGET_DIR, COMPONENT_ENCODER (a command called with CORE OUT; default: `tidegate transform encode`).
set -eu
T=wasm32-unknown-unknown
SYS=${RUST_WASM_SYSTEM:-/usr/bin}
CACHE=${RUST_WASM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rust-wasm}
die() { echo "rust-wasm: $*" >&2; exit 1; }

has_target() { d=$("$1" --print target-libdir --target $T 2>/dev/null) && ls "$d"/libcore-*.rlib >/dev/null 2>&1; }
STD_FLAGS="-C embed-bitcode=yes" # object code for crates without LTO, bitcode for those with (cargo would leave it out)
sys_root() { # the cached std, by the full version of the system's rustc and by how it was built: the path is part of
  # cargo's fingerprint, so a crate is never linked with another std than it was compiled against
  echo "$CACHE/$( { "$SYS/rustc" -vV; echo "$STD_FLAGS"; } | cksum | cut -d' ' -f1)"
}
way() {
  if has_target rustc; then echo installed
  elif [ ! -x "$SYS/rustc" ] || [ ! -x "$SYS/cargo" ]; then echo none
  elif has_target "$SYS/rustc"; then echo system
  elif [ -e "$(sys_root)/ok" ]; then echo cached
  elif [ -e "$("$SYS/rustc" --print sysroot)/lib/rustlib/src/rust/library/std/Cargo.toml" ]; then echo build-std
  else echo none; fi
}
linker() {
  for l in ${RUST_WASM_LINKER:-} wasm-ld wasm-ld-22 wasm-ld-21 wasm-ld-20 wasm-ld-19 wasm-ld-18 wasm-ld-17 wasm-ld-16; do
    command -v "$l" && return; done
  # the linker that comes with a rustup toolchain does as well
  r=$(rustc --print sysroot 2>/dev/null)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
  [ -x "$r" ] && echo "$r" || die "no wasm linker: install lld (Debian: lld-19)"
}
# the system's cargo and rustc must not meet rustup's: RUSTUP_TOOLCHAIN and a rust-toolchain file are for rustup's
# shims only, but cargo starts `rustc` by name, so PATH must name the system's first
sys() { env -u RUSTC -u RUSTUP_TOOLCHAIN PATH="$SYS:$PATH" RUSTC="$SYS/rustc" \
  CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$LINKER" "$@"; }

build_std() { # in a folder of this process, renamed when it is whole: two builds may run at once
  root=$(sys_root); part=$root.$$; rm -rf "$part"; mkdir -p "$part/w/src" "$part/lib/rustlib/$T/lib"
  printf '[package]\nname="x"\nversion="0.0.0"\nedition="2021"\n[workspace]\n[lib]\ncrate-type=["cdylib"]\n[profile.release]\npanic="abort"\n' >"$part/w/Cargo.toml"
  : >"$part/w/src/lib.rs"
  ( cd "$part/w" && sys env RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$part/w/t" RUSTFLAGS="$STD_FLAGS" \
      "$SYS/cargo" build --release --target $T -Z build-std=std,panic_abort ) || die "build-std failed"
  cp "$part/w/t/$T/release/deps/"*.rlib "$part/lib/rustlib/$T/lib/"
  rm -rf "$part/w"; : >"$part/ok"
  [ -e "$root/ok" ] || { rm -rf "$root"; mv "$part" "$root"; }
  rm -rf "$part"
}

std() {
  W=$(way)
  if [ "$W" != installed ] && [ -z "${RUST_WASM_OFFLINE:-}" ] && command -v rustup >/dev/null; then
    timeout 120 rustup target add $T >&2 || echo "rust-wasm: rustup could not add $T, going on with the system's rustc" >&2
    W=$(way)
  fi
  case $W in
    none) die "no standard library for $T. Either: rustup target add $T
       or (Debian): apt-get install rustc-web cargo-web rust-web-src lld-19" ;;
    build-std) LINKER=$(linker); build_std; W=cached ;;
  esac
}

core() { # CRATE_DIR; sets ART, the core module, and CARGO_TARGET_DIR
  std
  cd "$1"
  case $W in
    installed) run() { cargo "$@"; } ;;
    system) LINKER=$(linker); run() { sys "$SYS/cargo" "$@"; } ;;
    cached) LINKER=$(linker)
      run() { sys env CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="--sysroot $(sys_root)" "$SYS/cargo" "$@"; } ;;
  esac
  manifest=$(run locate-project --workspace --message-format plain)
  if grep -q '^\[profile\.guest\]' "$manifest"; then profile=guest; else profile=release; fi
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$(dirname "$manifest")/target/guest-$W}; export CARGO_TARGET_DIR
  ART=$(run build --profile $profile --target $T --lib --message-format=json-render-diagnostics |
    grep -o '"[^"]*\.wasm"' | tr -d '"' | tail -n1)
  [ -n "$ART" ] || die "build failed, or no cdylib in $1"
}
encode() { # CORE OUT
  if [ -n "${COMPONENT_ENCODER:-}" ]; then $COMPONENT_ENCODER "$1" "$2"
  elif command -v tidegate >/dev/null; then tidegate transform encode "$1" "$2"
  else die "no encoder: put tidegate into PATH or set COMPONENT_ENCODER"; fi
}
case ${1:-} in
  which) way ;;
  std) std; echo "$W" ;;
  core|build)
    [ -f "${2:?crate dir}/Cargo.toml" ] || die "no Cargo.toml in $2"
    here=$PWD; dir=$(cd "$2" && pwd)
    core "$dir"
    out=${3:-$CARGO_TARGET_DIR/$(basename "$dir").wasm}
    case $out in /*) ;; *) out=$here/$out ;; esac
    mkdir -p "$(dirname "$out")"
    if [ "$1" = core ]; then cp "$ART" "$out"; else encode "$ART" "$out"; fi
    echo "$out" ;;
  *) sed -n '2,24s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

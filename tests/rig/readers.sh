#!/usr/bin/env bash
# The readers that the tests compare the lake with, in a Python environment of their own:
# DuckDB and pyarrow, which share no code with the agent's writer.
#
#   readers.sh DIR           make the environment DIR/bin/python (once; later calls return at once)
#   readers.sh --check DIR   only tell by the exit code whether it is there
set -euo pipefail

# Pinned, so that a comparison that fails tells of us and not of a reader's new version.
# pytz: both turn a timestamp with zone into a Python object with it.
REQUIREMENTS="duckdb==1.5.5 pyarrow==26.0.1 pytz"

complete() { [ "$(cat "$1/requirements" 2>/dev/null)" = "$REQUIREMENTS" ]; }

case "$#:${1:-}" in
  2:--check) complete "$2"; exit ;;
  1:[!-]*) dir=$1 ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

if ! complete "$dir"; then
  rm -rf "$dir"
  python3 -m venv "$dir"
  # shellcheck disable=SC2086 # a list of words
  "$dir/bin/pip" install --quiet --disable-pip-version-check $REQUIREMENTS
  echo "$REQUIREMENTS" >"$dir/requirements"
fi
"$dir/bin/python" -c 'import duckdb, pyarrow; print("duckdb", duckdb.__version__, "pyarrow", pyarrow.__version__)'

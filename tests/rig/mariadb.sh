#!/usr/bin/env bash
# A private MariaDB for tests and the demo: the distribution's packages unpacked into a
# folder, nothing installed on the host, no dpkg lock taken, no root needed.
#
#   mariadb.sh install DIR                       unpack the server into DIR (once; later calls return at once)
#   mariadb.sh start DIR DATADIR PORT [OPTION…]  start it on 127.0.0.1:PORT, return when it answers
#   mariadb.sh stop DATADIR                      stop it, return when it is gone
#   mariadb.sh serve DIR DATADIR PORT [OPTION…]  start it, print `ready`, and when standard input closes
#                                                stop it and remove DATADIR
#   mariadb.sh client DIR DATADIR [OPTION…]      talk to it as its root: SQL on standard input
#
# `serve` is for programs: a caller that dies in whatever way, kill -9 included, closes the
# pipe, so that no server outlives its test run. OPTIONs are passed to mariadbd.
#
# Accounts on 127.0.0.1: `rig`/`rig` may do everything; `tidegate`/`tidegate` has exactly the
# rights that the agent asks for. The socket is DATADIR/server.sock, the log DATADIR/server.log.
set -euo pipefail

die() { echo "mariadb.sh: $*" >&2; exit 1; }
usage() { sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# The packages that hold the server, its client and the libraries that a bare system lacks.
PACKAGES=(mariadb-server-core mariadb-client-core mariadb-client)
LIBRARIES=(mariadb-common libmariadb3 libaio1 liburing2 libsnappy1v5 libnuma1)

# Sets what every call of an unpacked program needs.
use() { # DIR
  ROOT=$1/root
  SERVER=$ROOT/usr/sbin/mariadbd
  CLIENT=$ROOT/usr/bin/mariadb
  local lib
  for lib in "$ROOT"/usr/lib/*-linux-gnu "$ROOT"/lib/*-linux-gnu; do
    [ ! -d "$lib" ] || LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  done
  export LD_LIBRARY_PATH
}

install() { # DIR
  mkdir -p "$1"
  local dir packages
  dir=$(cd "$1" && pwd)
  if [ ! -e "$dir/complete" ]; then
    rm -rf "$dir/root" "$dir/deb"
    mkdir -p "$dir/root" "$dir/deb"
    # What apt would install on this host, asked in simulation because that takes no lock. While
    # another apt is half way through, the answer is empty: then the fixed list has to do, and
    # the check for missing libraries below tells if it did not.
    mapfile -t packages < <(
      {
        printf '%s\n' "${PACKAGES[@]}" "${LIBRARIES[@]}"
        apt-get -o Debug::NoLocking=1 install -s -y --no-install-recommends "${PACKAGES[@]}" 2>/dev/null |
          awk '/^Inst/ { print $2 }' || true
      } | sort -u
    )
    (cd "$dir/deb" && apt-get -o Debug::NoLocking=1 -o APT::Sandbox::User=root download -q "${packages[@]}") \
      >"$dir/download.log" 2>&1 || { cat "$dir/download.log" >&2; die "download failed; run \`apt-get update\` and try again"; }
    for deb in "$dir"/deb/*.deb; do dpkg-deb -x "$deb" "$dir/root"; done
    rm -rf "$dir/deb"
    use "$dir"
    ! ldd "$SERVER" | grep 'not found' >&2 || die "the unpacked server lacks the libraries above"
    touch "$dir/complete"
  fi
  use "$dir"
  "$SERVER" --version
}

running() { # DATADIR
  [ -s "$1/server.pid" ] && kill -0 "$(cat "$1/server.pid")" 2>/dev/null
}

# Returns 0 as soon as the command does, 1 when it has not within the given seconds.
within() { # SECONDS COMMAND…
  local deadline=$((SECONDS + $1)); shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

admin() { # DATADIR, SQL on standard input
  "$CLIENT" --no-defaults --user=root --socket="$1/server.sock"
}
answers() { admin "$1" <<<'select 1' >/dev/null 2>&1; }
# A server that died while starting will not answer: no need to wait for the deadline.
answers_or_died() { answers "$1" || ! kill -0 "$2" 2>/dev/null; }

configure() { # DATADIR PORT
  cat <<CNF
[mysqld]
datadir=$1/data
socket=$1/server.sock
pid-file=$1/server.pid
log-error=$1/server.log
tmpdir=$1
port=$2
bind-address=127.0.0.1
lc-messages-dir=$1/share
character-sets-dir=$1/share/charsets
plugin-dir=$ROOT/usr/lib/mysql/plugin
skip-name-resolve
# What change data capture needs of a server.
server-id=$2
log-bin=binlog
binlog-format=ROW
binlog-row-image=FULL
binlog-row-metadata=FULL
gtid-strict-mode=1
gtid-domain-id=0
max-binlog-size=1G
max-allowed-packet=256M
# A test server: it outlives no machine, so it need not survive one's loss.
innodb-buffer-pool-size=512M
innodb-flush-log-at-trx-commit=2
sync-binlog=0
CNF
}

# What mariadb-install-db does, without it: it wants programs of other packages, and only pipes
# these files through --bootstrap, which takes one statement a line.
bootstrap() { # DATADIR
  mkdir -p "$1/data"
  [ -z "$RUN_AS" ] || chown -R "$RUN_AS" "$1"
  local share=$ROOT/usr/share/mysql
  {
    printf '%s;\n' 'create database mysql' 'use mysql' 'set @auth_root_socket=NULL'
    cat "$share"/mysql_system_tables.sql "$share"/mysql_performance_tables.sql \
      "$share"/mysql_system_tables_data.sql "$share"/maria_add_gis_sp_bootstrap.sql
  } | "$SERVER" --defaults-file="$1/server.cnf" ${RUN_AS:+--user=$RUN_AS} --bootstrap --skip-log-bin --log-warnings=0 \
    >"$1/bootstrap.log" 2>&1 || { tail -n 20 "$1"/*.log >&2; die "bootstrap failed"; }
}

start() { # DIR DATADIR PORT [OPTION…]
  [ -e "$1/complete" ] || die "no server in $1; run \`make setup\` first"
  use "$(cd "$1" && pwd)"
  mkdir -p "$2"
  local data port
  data=$(cd "$2" && pwd); port=$3; shift 3
  ! running "$data" || die "a server runs in $data already (pid $(cat "$data/server.pid"))"

  # mariadbd refuses to run as root. The files that it opens after it has changed its user are
  # copied, since the folder that it was unpacked into may be closed to that user.
  RUN_AS=
  if [ "$(id -u)" = 0 ]; then RUN_AS=nobody; fi
  mkdir -p "$data/share"
  cp -r "$ROOT/usr/share/mysql/charsets" "$ROOT/usr/share/mysql/english" "$data/share/"
  configure "$data" "$port" >"$data/server.cnf"
  [ -d "$data/data/mysql" ] || bootstrap "$data"
  [ -z "$RUN_AS" ] || chown -R "$RUN_AS" "$data"

  # A session of its own, so that Ctrl-C at the terminal reaches the caller and not the server.
  setsid "$SERVER" --defaults-file="$data/server.cnf" ${RUN_AS:+--user=$RUN_AS} "$@" </dev/null >"$data/console.log" 2>&1 &
  { within 60 answers_or_died "$data" $! && answers "$data"; } ||
    { tail -n 20 "$data/console.log" "$data/server.log" >&2; die "the server did not start"; }
  admin "$data" <<'SQL'
set sql_log_bin = 0;
create user if not exists rig@'127.0.0.1' identified by 'rig';
grant all on *.* to rig@'127.0.0.1' with grant option;
create user if not exists tidegate@'127.0.0.1' identified by 'tidegate';
grant select, replication slave, binlog monitor on *.* to tidegate@'127.0.0.1';
SQL
}

stop() { # DATADIR
  running "$1" || return 0
  local pid
  pid=$(cat "$1/server.pid")
  kill "$pid"
  if ! within 30 eval "! kill -0 $pid 2>/dev/null"; then
    kill -9 "$pid"
    within 10 eval "! kill -0 $pid 2>/dev/null" || die "pid $pid does not end"
  fi
}

serve() { # DIR DATADIR PORT [OPTION…]
  trap '' INT HUP
  trap 'stop "$served"; rm -rf "$served"' EXIT
  served=$2
  start "$@"
  echo ready
  # The write ends here if the caller is gone; either way the trap cleans up.
  cat >/dev/null
}

client() { # DIR DATADIR [OPTION…]
  use "$(cd "$1" && pwd)"
  exec "$CLIENT" --no-defaults --user=root --socket="$2/server.sock" "${@:3}"
}

command=${1:-}
shift || true
case $command in
  install) [ $# -eq 1 ] || usage; install "$@" ;;
  start) [ $# -ge 3 ] || usage; start "$@" ;;
  stop) [ $# -eq 1 ] || usage; stop "$@" ;;
  serve) [ $# -ge 3 ] || usage; serve "$@" ;;
  client) [ $# -ge 2 ] || usage; client "$@" ;;
  *) usage ;;
esac

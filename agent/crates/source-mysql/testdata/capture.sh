#!/usr/bin/env bash
# Takes the captures in this folder from a real MariaDB anew.
#
#   capture.sh SERVER_DIR     where tests/rig/mariadb.sh has installed a server
#
# Writes *.binlog and values.tsv (the server's own text of each cell that types.sql inserts:
# table, id, column, text; `\N` is null). Ids, times and versions differ from run to run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rig=$here/../../../../tests/rig/mariadb.sh
server=$1
work=$(mktemp -d)
chmod 755 "$work" # the server runs as another user
trap 'for data in "$work"/*/; do bash "$rig" stop "$data"; done; rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=
for lib in "$server"/root/usr/lib/*-linux-gnu "$server"/root/lib/*-linux-gnu; do LD_LIBRARY_PATH=$lib:$LD_LIBRARY_PATH; done

sql() { "$server"/root/usr/bin/mariadb --no-defaults --user=root --default-character-set=utf8mb4 --socket="$data/server.sock" "$@"; }

# A fresh server with these options; `begin` starts a new log file, `end NAME` keeps it.
start() { data=$work/$1; bash "$rig" start "$server" "$data" "$((23400 + RANDOM % 500))" "${@:2}"; sql -e 'create database t'; }
begin() { sql -e 'flush binary logs'; }
end() {
  local log
  log=$(sql -N -e 'show master status' | cut -f1)
  begin
  cp "$data/data/$log" "$here/$1.binlog"
  chmod 644 "$here/$1.binlog"
}

# The text that a cell is compared with.
values() {
  sql -N t -e "select table_name, column_name, data_type from information_schema.columns
    where table_schema = 't' and table_name in ('numbers', 'texts', 'moments') order by table_name, ordinal_position" |
    while read -r table column type; do
      case $type in
        float) text="cast($column as double)" ;;
        bit | binary | varbinary | *blob) text="hex($column)" ;;
        *) text="convert($column using utf8mb4)" ;;
      esac
      sql -N t -e "set time_zone = '+00:00'; select '$table', id, '$column', $text from $table order by id" </dev/null
    done
}

start plain
begin
sql t <"$here/types.sql"
values >"$here/values.tsv"
end types
begin
sql t <"$here/changes.sql"
end changes

start compressed --log-bin-compress=ON --log-bin-compress-min-len=10
begin
sql t -e "create table zipped (id int primary key, v varchar(200), t text);
  insert into zipped select seq, repeat('ab', seq), repeat('x', 1000) from seq_1_to_20;
  update zipped set v = concat(v, '!') where id <= 3;
  delete from zipped where id = 20"
end compressed

start minimal --binlog-row-metadata=MINIMAL --binlog-checksum=NONE
begin
sql t -e "create table plain (id int unsigned primary key, v varchar(20) charset latin1, e enum('a', 'b'));
  insert into plain values (4294967295, 'é', 'b');
  xa start 'x'; insert into plain values (1, 'xa', 'a'); xa end 'x'; xa prepare 'x'; xa commit 'x';
  set session binlog_format = STATEMENT;
  insert into plain values (2, left(uuid(), 8), 'a');
  set session binlog_alter_two_phase = 1; alter table plain add n int, algorithm = copy"
end minimal

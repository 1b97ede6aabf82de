//! Numbers of the event types (sql/log_event.h, `enum Log_event_type`), named
//! without their suffix `_EVENT`.
#![allow(missing_docs)] // the server's own names

pub const QUERY: u8 = 2;
pub const STOP: u8 = 3;
pub const ROTATE: u8 = 4;
pub const INTVAR: u8 = 5;
pub const APPEND_BLOCK: u8 = 9;
pub const DELETE_FILE: u8 = 11;
pub const RAND: u8 = 13;
pub const USER_VAR: u8 = 14;
pub const FORMAT_DESCRIPTION: u8 = 15;
pub const XID: u8 = 16;
pub const BEGIN_LOAD_QUERY: u8 = 17;
pub const EXECUTE_LOAD_QUERY: u8 = 18;
pub const TABLE_MAP: u8 = 19;
pub const WRITE_ROWS_V1: u8 = 23;
pub const UPDATE_ROWS_V1: u8 = 24;
pub const DELETE_ROWS_V1: u8 = 25;
pub const INCIDENT: u8 = 26;
pub const HEARTBEAT: u8 = 27;
pub const WRITE_ROWS: u8 = 30;
pub const UPDATE_ROWS: u8 = 31;
pub const DELETE_ROWS: u8 = 32;
pub const XA_PREPARE: u8 = 38;

// MariaDB's own.
pub const ANNOTATE_ROWS: u8 = 160;
pub const BINLOG_CHECKPOINT: u8 = 161;
pub const GTID: u8 = 162;
pub const GTID_LIST: u8 = 163;
pub const START_ENCRYPTION: u8 = 164;
pub const QUERY_COMPRESSED: u8 = 165;
pub const WRITE_ROWS_COMPRESSED_V1: u8 = 166;
pub const UPDATE_ROWS_COMPRESSED_V1: u8 = 167;
pub const DELETE_ROWS_COMPRESSED_V1: u8 = 168;
pub const WRITE_ROWS_COMPRESSED: u8 = 169;
pub const UPDATE_ROWS_COMPRESSED: u8 = 170;
pub const DELETE_ROWS_COMPRESSED: u8 = 171;

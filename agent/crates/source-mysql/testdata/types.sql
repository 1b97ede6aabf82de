set names utf8mb4; set time_zone = '+00:00';
-- Every type at its edges. The rows inserted here are compared with the server's own text.
create table numbers (id int primary key, i8 tinyint, u8 tinyint unsigned, i16 smallint, u16 smallint unsigned, i24 mediumint, u24 mediumint unsigned, i32 int, u32 int unsigned, i64 bigint, u64 bigint unsigned, zf int(8) zerofill, f float, fu float unsigned, d double, dec10 decimal(10,2), dec38 decimal(38,10), dec65 decimal(65,30), dec9 decimal(9,0), decs decimal(5,5), decu decimal(18,9) unsigned, b1 bit(1), b12 bit(12), b64 bit(64), y year);
insert into numbers values
(1,-128,0,-32768,0,-8388608,0,-2147483648,0,-9223372036854775808,0,0,-3.402823e38,0,-1.7976931348623157e308,-99999999.99,-9999999999999999999999999999.9999999999,-99999999999999999999999999999999999.999999999999999999999999999999,-999999999,-0.99999,0,b'0',b'0',b'0',0),
(2,127,255,32767,65535,8388607,16777215,2147483647,4294967295,9223372036854775807,18446744073709551615,4294967295,3.402823e38,16777216,1.7976931348623157e308,99999999.99,9999999999999999999999999999.9999999999,99999999999999999999999999999999999.999999999999999999999999999999,999999999,0.99999,999999999.999999999,b'1',b'111111111111',0xffffffffffffffff,2155),
(3,-1,1,-1,1,-1,1,-1,1,-1,1,1,16777217,0.1,0.1,-0.01,-0.0000000001,0.000000000000000000000000000001,-1,0.00001,0.000000001,b'1',b'101010101010',0x0102030405060708,1901),
(4,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null),
(5,0,0,0,0,0,0,0,0,0,0,0,-0e0,0,1e-300,0,0,0,0,0,0,b'0',b'1',1,1970);
create table texts (id int primary key, c4 char(10) charset utf8mb4, v4 varchar(300) charset utf8mb4, v3 varchar(20) charset utf8mb3, va varchar(20) charset ascii, vl varchar(20) charset latin1, cl char(5) charset latin1, tt tinytext charset utf8mb4, t text charset latin1, mt mediumtext charset utf8mb3, lt longtext charset utf8mb4, b3 binary(3), b255 binary(255), vb varbinary(20), vb300 varbinary(300), tb tinyblob, bl blob, mb mediumblob, lb longblob, e enum('a','b''q','ü') charset utf8mb4, el enum('x','é') charset latin1, s set('a','b','c') charset utf8mb4, s64 set('l0','l1','l2','l3','l4','l5','l6','l7','l8','l9','l10','l11','l12','l13','l14','l15','l16','l17','l18','l19','l20','l21','l22','l23','l24','l25','l26','l27','l28','l29','l30','l31','l32','l33','l34','l35','l36','l37','l38','l39','l40','l41','l42','l43','l44','l45','l46','l47','l48','l49','l50','l51','l52','l53','l54','l55','l56','l57','l58','l59','l60','l61','l62','l63'), j json);
insert into texts values
(1,'ab  ','grüße 😀  ','Ünïcode','ascii','Straße €','é  ',' tiny ',concat('x',char(0x81 using latin1),'ÿ'),repeat('ж',300),repeat('😀',100),0x010000,0x00,0x0100,repeat(0x00ff,150),0x00,0xff00ff,'medium',repeat(0xfe,300),'b''q','é','a,c','l0,l63','{"a": [1, 2.50], "b": "ü"}'),
(2,'','','','','','','','','','','','','','','','','','','a','x','','',''  '""'),
(3,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null),
(4,'0123456789',repeat('a',300),'x','y','z','12345','t','t','t','t',0x000000,0xaa,0x00,0x00,'a','b','c','d',3,2,'a,b,c','l5','null');
insert ignore into texts(id,e,s) values(5,'nope','nope');
create table moments (id int primary key, d date, t0 time, t1 time(1), t2 time(2), t3 time(3), t4 time(4), t5 time(5), t6 time(6), dt0 datetime, dt3 datetime(3), dt6 datetime(6), ts0 timestamp null, ts2 timestamp(2) null, ts6 timestamp(6) null);
insert into moments values
(1,'0001-01-01','-838:59:59','-838:59:59.9','-838:59:59.99','-838:59:59.999','-838:59:59.9999','-838:59:59.99999','-838:59:59.999999','0001-01-01 00:00:00','0001-01-01 00:00:00.001','0001-01-01 00:00:00.000001','1970-01-01 00:00:01','1970-01-01 00:00:01.01','1970-01-01 00:00:00.000001'),
(2,'9999-12-31','838:59:59','838:59:59.9','838:59:59.99','838:59:59.999','838:59:59.9999','838:59:59.99999','838:59:59.999999','9999-12-31 23:59:59','9999-12-31 23:59:59.999','9999-12-31 23:59:59.999999','2038-01-19 03:14:07','2038-01-19 03:14:07.99','2038-01-19 03:14:07.999999'),
(3,'1969-12-31','-00:00:01','-00:00:00.1','-00:00:00.01','-00:00:00.001','-00:00:00.0001','-00:00:00.00001','-00:00:00.000001','1969-12-31 23:59:59','1969-12-31 23:59:59.999','1969-12-31 23:59:59.999999','2024-02-29 12:34:56','2024-02-29 12:34:56.78','2024-02-29 12:34:56.789012'),
(4,null,null,null,null,null,null,null,null,null,null,null,null,null,null),
(5,'2024-02-29','00:00:00','12:34:56.7','-12:34:56.78','100:00:00','24:00:00.0001','-24:00:00.5','-00:00:01.5','2000-02-29 00:00:00','1900-02-28 01:02:03.004','1582-10-10 01:02:03.004005','2000-01-01','2000-01-01','2000-01-01');
create table refused (id int primary key, d date, dt datetime(3), ts timestamp(2) null, v varchar(10) charset utf8mb4);

-- Values that the model refuses.
set sql_mode='ALLOW_INVALID_DATES';
insert into refused values (1,'0000-00-00','0000-00-00','0000-00-00','zero'),(2,'2024-00-10','2024-05-00 10:11:12.123',null,'partial'),(3,'2024-02-30','0000-01-01 00:00:00','2001-01-01','impossible'),(4,'2024-01-01','2024-01-01','2024-01-01','fine');
-- One column a type, in the order of docs/reference/types.md.
create table reference (
  a1 tinyint, a2 tinyint unsigned, a3 smallint, a4 smallint unsigned, a5 mediumint, a6 mediumint unsigned,
  a7 int, a8 int unsigned, a9 bigint, a10 bigint unsigned, a11 bit(12), a12 float, a13 double,
  a14 decimal(10,2), a15 decimal(38,10), a16 decimal(65,30),
  b1 char(10) charset utf8mb4, b2 varchar(20) charset utf8mb4, b3 varchar(20) charset utf8mb3,
  b4 varchar(20) charset ascii, b5 varchar(20) charset latin1, b6 tinytext charset utf8mb4, b7 text charset utf8mb4,
  b8 mediumtext charset utf8mb4, b9 longtext charset utf8mb4, b10 json,
  b11 enum('a','b') charset utf8mb4, b12 set('a','b','c') charset utf8mb4,
  c1 binary(16), c2 varbinary(16), c3 tinyblob, c4 blob, c5 mediumblob, c6 longblob,
  d1 date, d2 time, d3 time(6), d4 datetime, d5 datetime(6), d6 timestamp null, d7 timestamp(6) null, d8 year);
insert into reference(a1) values (1);

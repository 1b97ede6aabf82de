set names utf8mb4; set time_zone = '+00:00';
-- Updates, deletes and partial images, after the values were compared.
update refused set d='2024-01-02' where id=2;
delete from refused where id=1;
set sql_mode=default;
update numbers set i8=i8+0, i24=5, u64=7 where id in (1,2);
delete from numbers where id=3;
set session binlog_row_image=MINIMAL; 
update texts set v4='minimal' where id=4; delete from texts where id=2; insert into texts(id,v4) values (9,'nine');
set session binlog_row_image=NOBLOB;
update texts set v4='noblob' where id=4;
set session binlog_row_image=FULL;

-- Types that park their table, beside ones that must still be told apart behind them.
create table parked (id int, g geometry, p point not null, v varchar(10) charset sjis, u uuid, i4 inet4, i6 inet6, vc varchar(100) compressed, tc text compressed, after varchar(5) charset latin1, y year, j json);
insert into parked values (1, point(1,2), point(3,4),'a','123e4567-e89b-12d3-a456-426614174000','1.2.3.4','::1','comp','comp','z',2000,'{}');
create table noKey (a varchar(20) charset latin1, b varchar(20) charset utf8mb4, c text charset latin1, primary key (b(3), a)); insert into noKey values ('a','b','c');
-- Classes of the metadata: which columns have a sign, which a charset, in which order.
create table classes (y year, u int unsigned, b bit(3), i int, s set('a') charset latin1, u2 tinyint unsigned, ts timestamp null, d decimal(5,2) unsigned, f float, e enum('é') charset latin1, u3 bigint unsigned, t text charset utf8mb3, vb varbinary(3), dt date, i2 smallint, v varchar(3) charset ascii);
insert into classes(y) values (2000);

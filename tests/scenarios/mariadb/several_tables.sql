-- One transaction over several tables: each table's events in their order, none of a table that is not captured.
create table a (id int primary key, v int);
create table b (id int primary key, v int);
insert into a values (1, 1);
create database elsewhere;
create table elsewhere.t (id int primary key);
-- the agent starts
begin;
insert into a values (2, 2);
insert into b values (1, 1);
update a set v = 10;
delete from b;
insert into elsewhere.t values (1);
insert into b values (2, 2);
commit;

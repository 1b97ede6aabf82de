-- A change of key is a delete of the old key and an insert of the new one.
create table t (a int, b int, v varchar(9), primary key (a, b));
insert into t values (1, 1, 'x');
-- the agent starts
update t set b = 2 where a = 1;
update t set a = 3, v = 'y' where b = 2;
update t set v = 'z', a = 3 where a = 3;

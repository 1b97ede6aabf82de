-- What was rolled back never arrives, in whole or to a savepoint.
create table t (id int primary key);
-- the agent starts
begin;
insert into t values (1);
rollback;
begin;
insert into t values (2);
savepoint s;
insert into t values (3);
rollback to savepoint s;
insert into t values (4);
commit;

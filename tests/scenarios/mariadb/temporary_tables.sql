-- What a session keeps to itself never arrives, whatever its name.
create table t (id int primary key);
-- the agent starts
create temporary table t (id int primary key, other int);
insert into t values (1, 1);
drop temporary table t;
insert into t values (2);
create temporary table only_here (id int primary key);
insert into only_here values (3);
drop temporary table only_here;

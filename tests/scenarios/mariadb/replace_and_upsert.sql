-- REPLACE and ON DUPLICATE KEY UPDATE arrive as what the server made of them.
create table t (id int primary key, u int unique, v int);
insert into t values (1, 1, 1), (2, 2, 2);
-- the agent starts
insert into t values (1, 1, 9) on duplicate key update v = 10;
insert into t values (3, 3, 3) on duplicate key update v = 10;
insert ignore into t values (3, 4, 4);
replace into t values (2, 2, 20);

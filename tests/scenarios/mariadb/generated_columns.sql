-- Generated columns arrive with the server's values, stored or not; nothing is computed anew.
create table t (id int primary key, a int, stored_twice int as (a * 2) stored, twice int as (a * 2) virtual, z int);
insert into t (id, a, z) values (1, 10, 1);
-- the agent starts
insert into t (id, a, z) values (2, 20, 2);
update t set a = 30 where id = 1;

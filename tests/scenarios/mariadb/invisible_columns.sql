-- An invisible column is a column like others: `select *` leaves it out, the log does not.
create table t (id int primary key, hidden int invisible default 5, z int);
insert into t (id, z) values (1, 1);
-- the agent starts
insert into t (id, z) values (2, 2);
update t set hidden = 6 where id = 1;

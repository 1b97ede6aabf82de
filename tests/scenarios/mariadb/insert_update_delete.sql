-- Every operation arrives as one event; a delete carries the values before it.
create table t (id int primary key, name varchar(20));
insert into t values (1, 'there before');
-- the agent starts
insert into t values (2, 'new'), (3, null);
update t set name = 'changed' where id = 1;
update t set name = name where id = 2;
delete from t where id = 3;

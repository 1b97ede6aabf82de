-- What a trigger writes arrives as the change of the table that it wrote to.
create table t (id int primary key, v int);
create table audit (n int auto_increment primary key, t_id int, was int);
create trigger audit_t after update on t for each row insert into audit (t_id, was) values (old.id, old.v);
insert into t values (1, 1);
-- the agent starts
update t set v = 2 where id = 1;

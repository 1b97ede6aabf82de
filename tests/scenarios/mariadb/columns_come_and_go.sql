-- Every row lies under the columns that the table had when it was written.
create table t (id int primary key, a int);
insert into t values (1, 1);
-- the agent starts
alter table t add column b varchar(9) default 'old';
insert into t values (2, 2, 'new');
alter table t rename column a to c, drop column b;
delete from t where id = 1;

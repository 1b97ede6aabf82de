-- Names may hold anything; folders and queries have them escaped.
create table `two words.a/b` (`größe` int primary key, `a.b` int, `select` int, `"quoted" 'x'` int);
insert into `two words.a/b` values (1, 2, 3, 4);
-- the agent starts
insert into `two words.a/b` values (5, 6, 7, 8);

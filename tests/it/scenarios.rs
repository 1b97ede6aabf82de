//! The scenario files; `tidegate_tests::scenario` says how they are written.

use std::fs;

use tidegate_tests::rig::workspace;
use tidegate_tests::scenario;

/// One test a file, so that the runner names and runs them one by one.
macro_rules! scenarios {
    ($folder:literal: $($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                scenario::check(&workspace().join(concat!("tests/scenarios/", $folder, "/", stringify!($name), ".sql")));
            }
        )+

        #[test]
        fn every_file_is_listed() {
            let folder = workspace().join(concat!("tests/scenarios/", $folder));
            let listing = fs::read_dir(folder).expect("the folder is there");
            let names = listing.map(|entry| entry.expect("it can be listed").path());
            let mut files: Vec<_> = names.filter(|path| path.extension().is_some_and(|is| is == "sql")).collect();
            files.sort();
            let files: Vec<_> = files.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
            assert_eq!(files, [$(stringify!($name)),+], "the list above names the files in their order");
        }
    };
}

scenarios!(
    "mariadb":
    change_of_key,
    columns_come_and_go,
    generated_columns,
    insert_update_delete,
    invisible_columns,
    odd_names,
    replace_and_upsert,
    rollback,
    several_tables,
    temporary_tables,
    triggers,
);

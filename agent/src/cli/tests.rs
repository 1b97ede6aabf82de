//! The shape of the command line, held against its reference page.

use std::fs;

use clap::{CommandFactory, Parser};

use super::Arguments;

#[test]
fn the_definitions_agree_with_each_other() {
    Arguments::command().debug_assert();
}

/// Every command with its help, as the page shows it. `TIDEGATE_UPDATE=1`
/// rewrites the page.
#[test]
fn the_reference_page_shows_the_help_of_every_command() {
    let mut root = Arguments::command().term_width(100);
    root.build();
    let mut pages = String::new();
    help_of(&mut root, "tidegate", &mut pages);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/cli.md");
    let page = fs::read_to_string(file).expect("the page is there");
    let (head, shown) = page.split_once("## Help texts\n").expect("the page has the section");
    let expected = format!("\n{pages}");
    if std::env::var_os("TIDEGATE_UPDATE").is_some() {
        fs::write(file, format!("{head}## Help texts\n{expected}")).expect("the page can be written");
    } else {
        assert_eq!(shown, expected, "run this test with TIDEGATE_UPDATE=1 and look at what changed");
    }
}

fn help_of(command: &mut clap::Command, path: &str, pages: &mut String) {
    let help = command.render_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    *pages += &format!("### {path}\n\n```text\n{}\n```\n\n", help.join("\n").trim_end());
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names.iter().filter(|name| *name != "help") {
        if let Some(sub) = command.find_subcommand_mut(name) {
            help_of(sub, &format!("{path} {name}"), pages);
        }
    }
}

#[test]
fn usage_is_checked() {
    for (line, ok) in [
        ("run a.yaml b.yaml --accept-state-loss", true),
        ("run", false),
        ("check", false),
        ("status --json -c a.yaml", true),
        ("-c a.yaml status", true),
        ("--url http://127.0.0.1:1 status", true),
        ("offsets set -c a.yaml --gtid 0-1-42", true),
        ("offsets set -c a.yaml --gtid 0-1", false),
        ("offsets set -c a.yaml --file binlog.000007 --pos 4", true),
        ("offsets set -c a.yaml --file binlog.000007", false),
        ("offsets set -c a.yaml --pos 4", false),
        ("offsets set -c a.yaml --gtid 0-1-42 --file binlog.000007 --pos 4", false),
        ("offsets set -c a.yaml", false),
        ("snapshot shop.orders", true),
        ("snapshot", false),
        ("dead-letters list --limit 5", true),
        ("dead-letters list --limit 0", false),
        ("dead-letters show 0123456789abcdef", true),
        ("schema history shop.orders --json", true),
        ("lake latest shop.orders --sink lake", true),
        ("lake files", true),
        ("lake latest", false),
        ("transform encode a.wasm b.wasm --world row-transform", true),
        ("demo --short", true),
        ("demo --long", false),
    ] {
        let arguments = std::iter::once("tidegate").chain(line.split(' '));
        assert_eq!(Arguments::try_parse_from(arguments).is_ok(), ok, "{line}");
    }
}

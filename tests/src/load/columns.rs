//! The columns that a load's table has had.

/// Names of every version's columns, and the cycle of changes that leads from one to the next.
#[derive(Debug)]
pub(super) struct Columns {
    versions: Vec<Vec<String>>,
}

impl Columns {
    pub(super) fn new() -> Self {
        Self { versions: vec![["id", "seq", "n", "note", "num"].map(str::to_owned).to_vec()] }
    }

    /// The current version, from 1.
    pub(super) fn version(&self) -> usize {
        self.versions.len()
    }

    /// The columns of a version, in the table's order.
    pub(super) fn of(&self, version: usize) -> &[String] {
        &self.versions[version - 1]
    }

    /// Makes the next version and returns what leads to it, as ALTER TABLE has it.
    pub(super) fn next_change(&mut self) -> String {
        let step = self.versions.len();
        let round = step.div_ceil(5);
        let mut columns = self.of(step).to_vec();
        let change = match step % 5 {
            1 => add(&mut columns, &format!("c{round}"), "int"),
            2 => add(&mut columns, &format!("d{round}"), "int not null default 7"),
            3 => {
                let (from, to) = (format!("c{round}"), format!("r{round}"));
                let column = columns.iter_mut().find(|name| **name == from);
                column.expect("step 1 of the round added it").clone_from(&to);
                format!("rename column {from} to {to}")
            }
            4 if round == 1 => "modify n bigint".to_owned(),
            4 => format!("modify note varchar({})", 40 + 10 * round),
            _ => {
                let name = format!("d{round}");
                columns.retain(|column| *column != name);
                format!("drop column {name}")
            }
        };
        self.versions.push(columns);
        change
    }
}

fn add(columns: &mut Vec<String>, name: &str, definition: &str) -> String {
    columns.push(name.to_owned());
    format!("add column {name} {definition}")
}

#[cfg(test)]
mod tests {
    use super::Columns;

    #[test]
    fn goes_through_every_kind_of_change() {
        let mut columns = Columns::new();
        let changes: Vec<String> = (0..9).map(|_| columns.next_change()).collect();
        let expected = [
            "add column c1 int",
            "add column d1 int not null default 7",
            "rename column c1 to r1",
            "modify n bigint",
            "drop column d1",
            "add column c2 int",
            "add column d2 int not null default 7",
            "rename column c2 to r2",
            "modify note varchar(60)",
        ];
        assert_eq!(changes, expected);
        assert_eq!(columns.version(), 10);
        assert_eq!(columns.of(10), ["id", "seq", "n", "note", "num", "r1", "r2", "d2"]);
    }
}

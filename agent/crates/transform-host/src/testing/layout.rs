//! Answers of `plan-table` in a guest's memory.

/// What the guest answers.
pub(crate) enum Answer {
    Plan(PlanLayout),
    NotApplicable,
    Incompatible(&'static str),
    InvalidConfig(&'static str),
}

/// A plan, valid or not.
#[derive(Clone)]
pub(crate) struct PlanLayout {
    pub(crate) reads: Vec<u32>,
    pub(crate) outputs: Vec<Vec<OutColumn>>,
    /// Bits: insert, update, delete, snapshot.
    pub(crate) sees: u8,
    pub(crate) drops_unseen: bool,
    /// 0 none, 1 per image, 2 per event.
    pub(crate) filter: u8,
}

impl Default for PlanLayout {
    /// The probe's own: `id` passes, `double` and `text` are computed.
    fn default() -> Self {
        let columns = vec![
            OutColumn { nullable: false, key: 1, ..OutColumn::input("id", 0, Type::Int64) },
            OutColumn::computed("double", 0, Type::Int64),
            OutColumn::computed("text", 1, Type::Text),
        ];
        Self { reads: vec![1, 2], outputs: vec![columns], sees: 0b1111, drops_unseen: false, filter: 0 }
    }
}

/// An output column.
#[derive(Clone)]
pub(crate) struct OutColumn {
    pub(crate) name: &'static str,
    /// (0 input, 1 computed; number)
    pub(crate) source: (u8, u32),
    pub(crate) data_type: Type,
    pub(crate) nullable: bool,
    pub(crate) key: u8,
}

impl OutColumn {
    pub(crate) fn input(name: &'static str, index: u32, data_type: Type) -> Self {
        Self { name, source: (0, index), data_type, nullable: true, key: 0 }
    }

    pub(crate) fn computed(name: &'static str, number: u32, data_type: Type) -> Self {
        Self { name, source: (1, number), data_type, nullable: true, key: 0 }
    }
}

/// Types by their number in the contract's variant.
#[derive(Clone, Copy)]
pub(crate) enum Type {
    Int64 = 3,
    Text = 8,
    Timestamptz = 15,
}

impl Answer {
    /// The bytes of `result<plan, plan-error>` at this address, with all that
    /// they point at behind them.
    pub(crate) fn bytes(&self, base: u32) -> Vec<u8> {
        let mut memory = Memory { base, bytes: vec![0; 28] };
        match self {
            Self::Plan(plan) => memory.plan(plan),
            Self::NotApplicable => memory.error(0, ""),
            Self::Incompatible(message) => memory.error(1, message),
            Self::InvalidConfig(message) => memory.error(2, message),
        }
        memory.bytes
    }
}

struct Memory {
    base: u32,
    bytes: Vec<u8>,
}

impl Memory {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Appends, and puts pointer and length at `at`.
    fn list(&mut self, at: usize, bytes: &[u8], length: usize) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.put(at, &(self.base + start as u32).to_le_bytes());
        self.put(at + 4, &(length as u32).to_le_bytes());
        start
    }

    fn error(&mut self, case: u8, message: &str) {
        self.put(0, &[1]);
        self.put(4, &[case]);
        self.list(8, message.as_bytes(), message.len());
    }

    fn plan(&mut self, plan: &PlanLayout) {
        self.put(4, &7u32.to_le_bytes());
        let reads: Vec<u8> = plan.reads.iter().flat_map(|read| read.to_le_bytes()).collect();
        self.list(8, &reads, plan.reads.len());
        let outputs = self.list(16, &vec![0; 20 * plan.outputs.len()], plan.outputs.len());
        self.put(24, &[plan.sees, u8::from(!plan.drops_unseen), plan.filter]);
        for (n, columns) in plan.outputs.iter().enumerate() {
            let start = self.list(outputs + 20 * n + 12, &vec![0; 32 * columns.len()], columns.len());
            for (n, column) in columns.iter().enumerate() {
                self.column(start + 32 * n, column);
            }
        }
    }

    fn column(&mut self, at: usize, column: &OutColumn) {
        self.list(at, column.name.as_bytes(), column.name.len());
        self.put(at + 8, &[column.source.0]);
        self.put(at + 12, &column.source.1.to_le_bytes());
        self.put(at + 16, &[column.data_type as u8]);
        self.put(at + 28, &[u8::from(column.nullable), column.key]);
    }
}

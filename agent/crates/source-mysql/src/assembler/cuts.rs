//! Cuts where tests want them: `TIDEGATE_CUT=events:N|random:SEED` ends a
//! segment after every N changes, or at random, inside events of the log too.
//!
//! Cuts mean nothing, which is tested by cutting the same log in many ways.
//! Compiled only with debug assertions: a release binary holds neither the code
//! nor the name.

/// Where to cut.
#[derive(Debug)]
pub(super) struct Cuts {
    #[cfg(debug_assertions)]
    every: Option<armed::Every>,
}

impl Cuts {
    /// As the environment says.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(debug_assertions)]
            every: armed::Every::from_environment(),
        }
    }

    /// Counts a change; true when the segment ends behind it.
    #[inline(always)]
    pub(super) fn after_change(&mut self) -> bool {
        #[cfg(debug_assertions)]
        if let Some(every) = &mut self.every {
            return every.is_due();
        }
        false
    }
}

#[cfg(debug_assertions)]
mod armed {
    /// Changes between two random cuts, on average.
    const RANDOM_MEAN: u64 = 16;

    #[derive(Debug)]
    pub(super) enum Every {
        Changes { count: u64, since: u64 },
        Random { state: u64 },
    }

    impl Every {
        pub(super) fn from_environment() -> Option<Self> {
            let text = std::env::var("TIDEGATE_CUT").unwrap_or_default();
            (!text.is_empty()).then(|| Self::parse(&text))
        }

        fn parse(text: &str) -> Self {
            let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
            let every = match text.split_once(':') {
                Some(("events", count)) => number(count).map(|count| Self::Changes { count, since: 0 }),
                Some(("random", seed)) => number(seed).map(|state| Self::Random { state }),
                _ => None,
            };
            every.unwrap_or_else(|| panic!("TIDEGATE_CUT: {text:?} is not events:N or random:SEED"))
        }

        pub(super) fn is_due(&mut self) -> bool {
            match self {
                Self::Changes { count, since } => {
                    *since = (*since + 1) % *count;
                    *since == 0
                }
                Self::Random { state } => {
                    *state ^= *state << 13;
                    *state ^= *state >> 7;
                    *state ^= *state << 17;
                    (*state >> 32) % RANDOM_MEAN == 0
                }
            }
        }
    }

    #[test]
    fn is_due_as_often_as_it_says() {
        let due = |text| {
            let mut every = Every::parse(text);
            (0..7_000).filter(|_| every.is_due()).count()
        };
        assert_eq!(due("events:1"), 7_000);
        assert_eq!(due("events:7"), 1_000);
        assert!((200..700).contains(&due("random:42")));
    }
}

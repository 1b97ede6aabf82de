//! SQL text cut into words, without a grammar.
//!
//! A DDL in the log only has to be *classified* (verb, tables, renames, column
//! clauses), and full SQL grammars fail on about a third of what people really
//! write. So the text is only cut the way the server's lexer cuts it: quotes,
//! comments, executable comments, names. What the words mean is decided above,
//! clause by clause, and what is not understood stays "not understood".

/// One word of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// A keyword, a bare name or a number, as written.
    Word(String),
    /// A name in backticks, unquoted.
    Name(String),
    /// A string in single quotes, unquoted and unescaped.
    Text(String),
    /// Something in double quotes: a string, or a name under ANSI_QUOTES.
    Double(String),
    /// Any other character.
    Symbol(char),
}

impl Token {
    /// True for this keyword, whatever its case.
    pub(crate) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// The name that it is where a name is expected.
    pub(crate) fn as_name(&self) -> Option<&str> {
        match self {
            Self::Word(name) | Self::Name(name) | Self::Double(name) => Some(name),
            Self::Text(_) | Self::Symbol(_) => None,
        }
    }
}

/// Cuts a statement; `escapes`: a backslash in a string escapes what follows, as
/// it does without `sql_mode` NO_BACKSLASH_ESCAPES. `None` when a quote or comment does not end: then nothing
/// about the statement can be trusted.
pub(crate) fn tokens(sql: &str, escapes: bool) -> Option<Vec<Token>> {
    let mut scanner = Scanner { rest: sql, executable: 0, escapes };
    let mut tokens = Vec::new();
    while let Some(token) = scanner.next()? {
        tokens.push(token);
    }
    Some(tokens)
}

struct Scanner<'a> {
    rest: &'a str,
    /// Open executable comments; their content counts.
    executable: u32,
    /// A backslash escapes.
    escapes: bool,
}

impl<'a> Scanner<'a> {
    /// The outer `None`: unterminated. The inner: the end.
    #[expect(clippy::option_option, reason = "the two layers mean two things")]
    fn next(&mut self) -> Option<Option<Token>> {
        loop {
            self.rest = self.rest.trim_start();
            let Some(first) = self.rest.chars().next() else { return Some(None) };
            if self.rest.starts_with("/*") {
                self.comment()?;
            } else if self.executable > 0 && self.rest.starts_with("*/") {
                self.executable -= 1;
                self.rest = &self.rest[2..];
            } else if first == '#' || is_dash_comment(self.rest) {
                self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
            } else {
                return Some(Some(self.token(first)?));
            }
        }
    }

    /// Skips a comment, or enters one whose content the server executes.
    fn comment(&mut self) -> Option<()> {
        let marker = if self.rest.starts_with("/*!") {
            3
        } else if self.rest.starts_with("/*M!") {
            4
        } else {
            let end = self.rest[2..].find("*/")?;
            self.rest = &self.rest[2 + end + 2..];
            return Some(());
        };
        let body = &self.rest[marker..];
        let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let version: u32 = body[..digits].parse().unwrap_or(0);
        // MariaDB skips what is meant for MySQL 5.7 to 9 only.
        if marker == 3 && (50_700..100_000).contains(&version) {
            let end = self.rest.find("*/")?;
            self.rest = &self.rest[end + 2..];
        } else {
            self.executable += 1;
            self.rest = &body[digits..];
        }
        Some(())
    }

    fn token(&mut self, first: char) -> Option<Token> {
        match first {
            '`' => self.quoted('`', false).map(Token::Name),
            '\'' => self.quoted('\'', self.escapes).map(Token::Text),
            '"' => self.quoted('"', self.escapes).map(Token::Double),
            c if is_word(c) => Some(Token::Word(self.word().into())),
            c => {
                self.rest = &self.rest[c.len_utf8()..];
                Some(Token::Symbol(c))
            }
        }
    }

    fn word(&mut self) -> &'a str {
        let run = |text: &str| text.find(|c| !is_word(c)).unwrap_or(text.len());
        let mut end = run(self.rest);
        // A number's fraction belongs to it: `1.5`, but not `db.t1`.
        let digits = self.rest[..end].bytes().all(|b| b.is_ascii_digit());
        if digits && self.rest[end..].starts_with('.') {
            end += 1 + run(&self.rest[end + 1..]);
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn quoted(&mut self, quote: char, escapes: bool) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if escapes && c == '\\' {
                let escaped = chars.next()?.1;
                // These two keep it, for LIKE.
                if matches!(escaped, '%' | '_') {
                    text.push(c);
                }
                text.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\x08',
                    'Z' => '\x1a',
                    '0' => '\0',
                    other => other,
                });
            } else if c != quote {
                text.push(c);
            } else if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
                text.push(quote);
            } else {
                self.rest = &self.rest[at + quote.len_utf8()..];
                return Some(text);
            }
        }
        None
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// `--` begins a comment only before white space or the end.
fn is_dash_comment(text: &str) -> bool {
    text.strip_prefix("--").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_the_server_cuts_them() {
        for (sql, expected) in [
            ("a.b", "a . b"),
            ("1.5 -2", "1.5 - 2"),
            ("`a``b` 'it''s' \"q\"", "`a`b` 'it's' \"q\""),
            (r"'a\'b\\'", r"'a'b\'"),
            (r"'a\%b\qc'", r"'a\%bqc'"),
            ("x -- y\nz # w\n/* c */ v", "x z v"),
            ("/*!50100 a */ /*M!100100 b */ /*!80000 c */ d", "a b d"),
            ("1--1", "1 - - 1"),
            ("Größe", "Größe"),
        ] {
            let shown: Vec<String> = tokens(sql, true)
                .unwrap()
                .into_iter()
                .map(|token| match token {
                    Token::Word(t) => t,
                    Token::Name(t) => format!("`{t}`"),
                    Token::Text(t) => format!("'{t}'"),
                    Token::Double(t) => format!("\"{t}\""),
                    Token::Symbol(c) => c.to_string(),
                })
                .collect();
            assert_eq!(shown.join(" "), expected, "{sql}");
        }
        let literal = tokens(r"'a\', b", false).unwrap();
        assert_eq!(literal[0], Token::Text(r"a\".into()), "NO_BACKSLASH_ESCAPES");
        for broken in ["'a", "`a", "/* a", "\"a"] {
            assert_eq!(tokens(broken, true), None, "{broken}");
        }
    }
}

//! A place in a statement's words.

use tidegate_model::TableName;

use super::tokens::Token;

/// Reads words in order; nothing is ever read past the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    tokens: &'a [Token],
    schema: &'a str,
}

impl<'a> Cursor<'a> {
    /// At the start of `tokens`; unqualified tables lie in `schema`.
    pub(super) fn new(tokens: &'a [Token], schema: &'a str) -> Self {
        Self { tokens, schema }
    }

    pub(super) fn peek(&self) -> Option<&'a Token> {
        self.tokens.first()
    }

    pub(super) fn next(&mut self) -> Option<&'a Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    pub(super) fn at_end(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Takes these keywords if all of them come next.
    pub(super) fn take(&mut self, keywords: &[&str]) -> bool {
        let here = self.tokens.len() >= keywords.len()
            && self.tokens.iter().zip(keywords).all(|(token, keyword)| token.is(keyword));
        if here {
            self.tokens = &self.tokens[keywords.len()..];
        }
        here
    }

    /// Takes this symbol if it comes next.
    pub(super) fn symbol(&mut self, symbol: char) -> bool {
        let here = self.peek() == Some(&Token::Symbol(symbol));
        if here {
            self.next();
        }
        here
    }

    /// A name.
    pub(super) fn name(&mut self) -> Option<String> {
        let name = self.peek()?.as_name()?;
        self.next();
        Some(name.into())
    }

    /// A table's name, with or without its schema.
    pub(super) fn table(&mut self) -> Option<TableName> {
        let first = self.name()?;
        if self.symbol('.') {
            Some(TableName::new(first, self.name()?))
        } else {
            Some(TableName::new(self.schema, first))
        }
    }

    /// Tables separated by commas.
    pub(super) fn tables(&mut self) -> Option<Vec<TableName>> {
        let mut tables = vec![self.table()?];
        while self.symbol(',') {
            tables.push(self.table()?);
        }
        Some(tables)
    }

    /// The words up to the next comma outside parentheses; takes the comma.
    pub(super) fn clause(&mut self) -> Cursor<'a> {
        let mut depth = 0_i32;
        let end = self.tokens.iter().position(|token| {
            match token {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                Token::Symbol(',') if depth == 0 => return true,
                _ => {}
            }
            false
        });
        let (clause, rest) = match end {
            Some(end) => (&self.tokens[..end], &self.tokens[end + 1..]),
            None => (self.tokens, &[][..]),
        };
        self.tokens = rest;
        Cursor { tokens: clause, schema: self.schema }
    }

    /// The words inside the parentheses that open here; takes both.
    pub(super) fn parenthesised(&mut self) -> Option<Cursor<'a>> {
        if !self.symbol('(') {
            return None;
        }
        let mut depth = 1_i32;
        let end = self.tokens.iter().position(|token| {
            match token {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        let inner = Cursor { tokens: &self.tokens[..end], schema: self.schema };
        self.tokens = &self.tokens[end + 1..];
        Some(inner)
    }

    /// True when a word anywhere from here on is this keyword.
    pub(super) fn contains(&self, keyword: &str) -> bool {
        self.tokens.iter().any(|token| token.is(keyword))
    }
}

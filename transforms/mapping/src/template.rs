//! Templates of computed texts: `{column}` is replaced, `{{` and `}}` are
//! braces.

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(String),
    Column(String),
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from_brace) = rest.split_at(at);
            literal.push_str(before);
            let brace = &from_brace[..1];
            if from_brace[1..].starts_with(brace) {
                literal.push_str(brace);
                rest = &from_brace[2..];
                continue;
            }
            let (column, after) =
                (brace == "{").then(|| from_brace[1..].split_once('}')).flatten().ok_or_else(|| {
                    format!("unbalanced `{brace}` in `{text}`; a brace itself is written twice")
                })?;
            if column.is_empty() {
                return Err(format!("`{{}}` in `{text}` names no column"));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.push(Part::Column(column.into()));
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self(parts))
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Source columns that the template takes values from.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Column(column) => Some(column.as_str()),
            Part::Literal(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_columns_literals_and_braces() {
        let template = Template::parse("{shop}-{{{no}}}").unwrap();
        let literal = |text: &str| Part::Literal(text.into());
        let column = |name: &str| Part::Column(name.into());
        assert_eq!(template.parts(), [column("shop"), literal("-{"), column("no"), literal("}")]);
    }

    #[test]
    fn refuses_unbalanced_braces() {
        assert!(Template::parse("{shop").unwrap_err().contains("unbalanced `{`"));
        assert!(Template::parse("shop}").unwrap_err().contains("unbalanced `}`"));
        assert!(Template::parse("{}").is_err());
    }
}

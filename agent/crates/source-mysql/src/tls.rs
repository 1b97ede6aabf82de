//! What each TLS mode asks of the driver, and what a refused certificate says.

use std::error::Error as StdError;
use std::io;
use std::path::Path;

use mysql_async::SslOpts;
use rustls::CertificateError;
use tidegate_model::{Error, ErrorKind, Result};

use crate::config::Tls;

/// The driver's options; `name`: what the certificate must name instead of the
/// host. `None` for a connection in plain text.
///
/// # Errors
/// `Config` when the authority's file cannot be read.
pub(crate) fn options(tls: &Tls, name: Option<String>) -> Result<Option<SslOpts>> {
    Ok(match tls {
        Tls::Disable => None,
        Tls::Require => Some(SslOpts::default().with_danger_accept_invalid_certs(true)),
        Tls::VerifyCa { ca } => Some(roots(ca.as_deref())?.with_danger_tls_hostname_override(name)),
        Tls::VerifyIdentity { ca } => Some(roots(ca.as_deref())?),
    })
}

fn roots(ca: Option<&Path>) -> Result<SslOpts> {
    let Some(path) = ca else { return Ok(SslOpts::default()) };
    let pem = std::fs::read(path).map_err(|e| {
        Error::new(ErrorKind::Config, "the authority's certificate cannot be read")
            .with("path", path.display())
            .hint("check `source.tls_ca`")
            .because(e)
    })?;
    Ok(SslOpts::default().with_root_certs(vec![pem.into()]).with_disable_built_in_roots(true))
}

/// The TLS fault at the bottom of a connection's error.
pub(crate) fn fault<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(tls);
        }
        // An I/O error shows what it wraps by `get_ref` alone.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = wrapped.map(|wrapped| wrapped as &(dyn StdError + 'static)).or_else(|| error.source());
    }
    None
}

/// A name of the certificate, when its chain is good and only the name is not
/// the host's: rustls verifies the chain first.
pub(crate) fn presented_name(error: &(dyn StdError + 'static)) -> Option<String> {
    let rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) =
        fault(error)?
    else {
        return None;
    };
    presented.iter().find_map(|name| plain(name))
}

/// `DnsName("db.example")` or `IpAddress(127.0.0.1)` without what is around it.
fn plain(presented: &str) -> Option<String> {
    let inner = presented.split_once('(')?.1.strip_suffix(')')?;
    let name = inner.trim_matches('"');
    // A wildcard covers any one label.
    Some(name.strip_prefix("*.").map_or_else(|| name.to_owned(), |domain| format!("any.{domain}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_out_of_the_fault() {
        assert_eq!(plain("DnsName(\"db.example\")").as_deref(), Some("db.example"));
        assert_eq!(plain("DnsName(\"*.example\")").as_deref(), Some("any.example"));
        assert_eq!(plain("IpAddress(127.0.0.1)").as_deref(), Some("127.0.0.1"));
        assert_eq!(plain("nonsense"), None);
    }

    #[test]
    fn the_fault_is_found_under_io_errors() {
        let presented = vec!["DnsName(\"db.example\")".to_owned()];
        let expected = "localhost".try_into().unwrap();
        let fault = CertificateError::NotValidForNameContext { expected, presented };
        let inner = io::Error::other(rustls::Error::InvalidCertificate(fault));
        let error = Error::new(ErrorKind::Connection, "broken").because(io::Error::other(inner));
        assert_eq!(presented_name(&error).as_deref(), Some("db.example"));
    }
}

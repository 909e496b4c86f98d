//! Asking a component something over mutual TLS: one request, one answer, one connection.
//!
//! Readiness needs nothing more, and a client library with a runtime behind it would be the largest part of this crate.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, IpAddr, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A server on this machine is either there at once or not at all; it may take longer to think.
const CONNECT: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(10);
/// Answers are status words and objects, never more than etcd can hold.
const LONGEST: u64 = 64 << 20;

/// Who asks: an authority to trust and a certificate to show.
#[derive(Debug, Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
}

/// Status and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Client {
    /// Trusts the authority in `ca`, shows `certificate`.
    pub fn new(ca: &Path, certificate: &Path, key: &Path) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_file_iter(ca).map_err(invalid)? {
            roots.add(authority.map_err(invalid)?).map_err(invalid)?;
        }
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(invalid)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(invalid)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(invalid)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(invalid)?;
        Ok(Self { config: Arc::new(config) })
    }

    /// `GET path` on a port of this machine.
    pub fn get(&self, port: u16, path: &str) -> io::Result<Answer> {
        self.request(port, "GET", path, "", &[])
    }

    /// Any request with a whole body. `content` is its media type.
    pub fn request(
        &self,
        port: u16,
        method: &str,
        path: &str,
        content: &str,
        body: &[u8],
    ) -> io::Result<Answer> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let socket = TcpStream::connect_timeout(&address, CONNECT)?;
        socket.set_read_timeout(Some(ANSWER))?;
        socket.set_write_timeout(Some(ANSWER))?;
        socket.set_nodelay(true)?;
        let name = ServerName::IpAddress(IpAddr::from(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let connection = ClientConnection::new(Arc::clone(&self.config), name).map_err(invalid)?;
        let mut stream = StreamOwned::new(connection, socket);
        // HTTP/1.0: the server answers in one piece and closes, so there is nothing to parse between chunks.
        let content = if content.is_empty() { String::new() } else { format!("Content-Type: {content}\r\n") };
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAccept: application/json, */*\r\n{content}Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut bytes = Vec::new();
        match stream.take(LONGEST).read_to_end(&mut bytes) {
            Ok(_) => parse(&bytes),
            // Some servers close without saying goodbye in TLS; the length in the answer tells whether it is whole.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => parse(&bytes),
            Err(error) => Err(error),
        }
    }
}

fn parse(bytes: &[u8]) -> io::Result<Answer> {
    let end =
        bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(|| invalid("no HTTP answer"))?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| invalid("no HTTP status"))?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok());
    let body = bytes[end + 4..].to_vec();
    match length {
        Some(length) if body.len() < length => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        _ => Ok(Answer { status, body }),
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_whole_or_not_at_all() {
        let whole = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok";
        assert_eq!(parse(whole).unwrap(), Answer { status: 200, body: b"ok".to_vec() });
        assert!(parse(&whole[..whole.len() - 1]).is_err());
        assert!(parse(b"HTTP/1.0 200").is_err());
        assert!(parse(b"\x15\x03\x01\r\n\r\n").is_err());
        assert_eq!(parse(b"HTTP/1.0 503 no\r\n\r\nfor now").unwrap().body, b"for now");
    }
}

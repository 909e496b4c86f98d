//! Certificates: three authorities, a serving certificate per server, a client certificate per component.
//!
//! Valid from 1970 to 2200, because a virtual clock may start at any trace's date. etcd has its own authority, so that a
//! client of the API server cannot pass it by; the front proxy has its own, so that no client certificate can speak in
//! another's name.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType, date_time_ymd,
};

use crate::layout::{Layout, write_private};

/// The first address of the service range: the `kubernetes` Service has it.
pub(crate) const SERVICE_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Why certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A key or certificate could not be generated.
    #[error("failed to make the certificate of {name}")]
    Make {
        /// Whose certificate.
        name: String,
        /// Why not.
        source: rcgen::Error,
    },
    /// A file could not be written.
    #[error("failed to write `{path}`")]
    Write {
        /// Which file.
        path: std::path::PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Who a client certificate says its holder is.
struct Client {
    file: &'static str,
    user: &'static str,
    group: Option<&'static str>,
}

/// Clients of the API server. The scheduler has the rights of its role. The controller manager and KWOK are
/// administrators: several controllers need `--use-service-account-credentials` otherwise, whose tokens expire and are
/// renewed, and that is work for every simulated hour that no simulation is about.
const CLIENTS: [Client; 4] = [
    Client { file: "admin", user: "simkube:admin", group: Some("system:masters") },
    Client {
        file: "kube-controller-manager",
        user: "system:kube-controller-manager",
        group: Some("system:masters"),
    },
    Client { file: "kube-scheduler", user: "system:kube-scheduler", group: None },
    Client { file: "kwok", user: "simkube:kwok", group: Some("system:masters") },
];

/// Makes every key and certificate of a plane. Elliptic curves: a key takes microseconds, RSA would take a second.
pub(crate) fn create(layout: &Layout) -> Result<(), Error> {
    let authority = Authority::new(layout, "ca")?;
    let etcd = Authority::new(layout, "etcd-ca")?;
    let front_proxy = Authority::new(layout, "front-proxy-ca")?;
    for client in CLIENTS {
        authority.client(layout, client.file, client.user, client.group)?;
    }
    let service_names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    authority.server(layout, "kube-apiserver-serving", &service_names)?;
    authority.server(layout, "kube-controller-manager-serving", &[])?;
    authority.server(layout, "kube-scheduler-serving", &[])?;
    authority.server(layout, "kwok-serving", &[])?;
    etcd.server(layout, "etcd-serving", &[])?;
    etcd.server(layout, "etcd-peer", &[])?;
    etcd.client(layout, "etcd-client", "kube-apiserver", None)?;
    front_proxy.client(layout, "front-proxy", "front-proxy", None)?;

    let tokens = key("service-accounts")?;
    write(&layout.pki("service-accounts.key"), &tokens.serialize_pem())?;
    write(&layout.pki("service-accounts.pub"), &tokens.public_key_pem())
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(layout: &Layout, name: &str) -> Result<Self, Error> {
        let mut params = params(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, key(name)?).map_err(made(name))?;
        // The authority's key stays in memory: once the plane is up nobody can make another client.
        write(&layout.pki(&format!("{name}.crt")), &issuer.pem())?;
        Ok(Self(issuer))
    }

    fn client(&self, layout: &Layout, file: &str, user: &str, group: Option<&str>) -> Result<(), Error> {
        let mut params = params(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(layout, file, params)
    }

    fn server(&self, layout: &Layout, file: &str, names: &[&str]) -> Result<(), Error> {
        let mut params = params(file, None);
        let names = ["localhost"].iter().chain(names);
        params.subject_alt_names = names
            .map(|name| Ok(SanType::DnsName((*name).try_into()?)))
            .collect::<Result<_, rcgen::Error>>()
            .map_err(made(file))?;
        let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(SERVICE_IP)];
        params.subject_alt_names.extend(addresses.map(SanType::IpAddress));
        // etcd dials itself as a client with its serving certificate.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(layout, file, params)
    }

    fn issue(&self, layout: &Layout, file: &str, mut params: CertificateParams) -> Result<(), Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = key(file)?;
        let certificate = params.signed_by(&key, &self.0).map_err(made(file))?;
        write(&layout.pki(&format!("{file}.crt")), &certificate.pem())?;
        write(&layout.pki(&format!("{file}.key")), &key.serialize_pem())
    }
}

fn params(name: &str, group: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.not_before = date_time_ymd(1970, 1, 1);
    params.not_after = date_time_ymd(2200, 1, 1);
    params
}

fn key(name: &str) -> Result<KeyPair, Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(made(name))
}

fn made(name: &str) -> impl FnOnce(rcgen::Error) -> Error {
    let name = name.to_owned();
    move |source| Error::Make { name, source }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    write_private(path, text.as_bytes()).map_err(|source| Error::Write { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_the_owner_can_read_anything_and_no_authority_key_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().join("plane"));
        layout.create().unwrap();
        create(&layout).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(layout.root()), 0o700);
        assert_eq!(mode(&layout.root().join("pki")), 0o700);
        let mut names = Vec::new();
        for entry in fs::read_dir(layout.root().join("pki")).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            names.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
        assert!(names.iter().any(|name| name == "admin.key"));
        assert!(!names.iter().any(|name| name.ends_with("ca.key")), "{names:?}");
    }
}

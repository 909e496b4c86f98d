//! Choosing ports on the loopback interface.
//!
//! A port that is free now may be taken when its component binds it: nothing but trying helps, so a start that fails
//! that way is tried again with other ports. Choosing below the ephemeral range makes it rare, because no outgoing
//! connection of this machine ever takes a port there.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use serde::{Deserialize, Serialize};

/// First and one past the last port we choose from. Linux hands out ephemeral ports from 32768 on.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// Where each component of a plane listens, on 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Ports {
    /// etcd, for its clients.
    pub etcd: u16,
    /// etcd, for its peers: it has none, and cannot be told not to listen.
    pub etcd_peer: u16,
    /// kube-apiserver.
    pub apiserver: u16,
    /// kube-controller-manager.
    pub controller_manager: u16,
    /// kube-scheduler.
    pub scheduler: u16,
    /// KWOK, which answers for the kubelets.
    pub kwok: u16,
}

impl Ports {
    /// Six ports that are free now. `seed` spreads planes that start at the same time over the range.
    pub fn choose(seed: u32) -> io::Result<Self> {
        let count = u32::from(RANGE.end - RANGE.start);
        let candidates = (0..count).map(|offset| {
            let step = (u64::from(seed) + u64::from(offset)) % u64::from(count);
            RANGE.start + u16::try_from(step).expect("smaller than the range")
        });
        let mut held =
            candidates.filter_map(|port| Some((port, TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?)));
        let mut next = || held.next().ok_or_else(|| io::Error::new(io::ErrorKind::AddrInUse, "no free port"));
        // All listeners are held until the last one is chosen, so that no port is chosen twice.
        let chosen = [next()?, next()?, next()?, next()?, next()?, next()?];
        let [etcd, etcd_peer, apiserver, controller_manager, scheduler, kwok] =
            chosen.each_ref().map(|(port, _)| *port);
        Ok(Self { etcd, etcd_peer, apiserver, controller_manager, scheduler, kwok })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_different_ports_outside_the_ephemeral_range() {
        let p = Ports::choose(7).unwrap();
        let mut all = vec![p.etcd, p.etcd_peer, p.apiserver, p.controller_manager, p.scheduler, p.kwok];
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|port| RANGE.contains(port)));
    }

    #[test]
    fn a_taken_port_is_passed_over() {
        let first = Ports::choose(5_000).unwrap();
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, first.etcd)).unwrap();
        assert_ne!(Ports::choose(5_000).unwrap().etcd, first.etcd);
    }
}

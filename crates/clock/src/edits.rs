//! The hooks that `simclock.go` needs in Go's own runtime files: which file, which exact version of it, and
//! where. Anchors are the shortest text that occurs once; Go's sources themselves are never copied here.

/// The one Go release that the hashes below belong to.
pub const GO_VERSION: &str = "go1.26.8";

/// One runtime file and what is done to it.
pub(crate) struct Edit {
    /// Path below `GOROOT/src`.
    pub(crate) file: &'static str,
    pub(crate) sha256: &'static str,
    /// Only for this `GOARCH`; every one when absent.
    pub(crate) arch: Option<&'static str>,
    pub(crate) changes: &'static [Change],
}

pub(crate) enum Change {
    /// Add text right after the anchor.
    After(&'static str, &'static str),
    /// Add text right before the anchor.
    Before(&'static str, &'static str),
    /// Put the second text in the place of the first.
    Replace(&'static str, &'static str),
}

use Change::{After, Before, Replace};

pub(crate) const EDITS: &[Edit] = &[
    Edit {
        file: "runtime/time_nofake.go",
        sha256: "d42faad51f376b9d43b4944620b4208a24bcb48ce7c0d9ef1d7786e3467b1f42",
        arch: None,
        changes: &[Replace("return nanotime1()", "return simNanotime()")],
    },
    // On amd64 `time.now` is assembly. It keeps its body under another name, for processes without a clock.
    Edit {
        file: "runtime/time_linux_amd64.s",
        sha256: "328970a6fb6973b917bc914931bb32d001f698b6a399b4d8d5f7c1939051f612",
        arch: Some("amd64"),
        changes: &[Replace("TEXT time·now<ABIInternal>", "TEXT ·simUpstreamNow<ABIInternal>")],
    },
    Edit {
        file: "runtime/timeasm.go",
        sha256: "5c060a9c53fedf7c36023bbac52589626972ecad66b43a9672f8985eb43a7344",
        arch: Some("amd64"),
        changes: &[After(
            "func time_now() (sec int64, nsec int32, mono int64)",
            " {\n\tif simPage != nil {\n\t\treturn simTimeNow()\n\t}\n\treturn simUpstreamNow()\n}\n\n\
             func simUpstreamNow() (sec int64, nsec int32, mono int64)",
        )],
    },
    Edit {
        file: "runtime/timestub.go",
        sha256: "0f4200ad6f00e786bfab7251705bc87d658ba6bf2645f5b7decb413fb0887ca8",
        arch: Some("arm64"),
        changes: &[Before(
            "\tsec, nsec = walltime()",
            "\tif simPage != nil {\n\t\treturn simTimeNow()\n\t}\n",
        )],
    },
    Edit {
        file: "runtime/os_linux.go",
        sha256: "f211c96802c315ffa23343fc3a672f38713418f46658681da1f4d8187d9462a1",
        arch: None,
        changes: &[After("\tgoenvs_unix()\n", "\tsimAttach()\n")],
    },
    Edit {
        file: "runtime/lock_futex.go",
        sha256: "c411429c46c093a5214ceebb3557f66de31056826fc2ab234ebfae70c0a2efb5",
        arch: None,
        changes: &[
            // Notes with a time limit are the runtime waiting for its own threads (stopping the world,
            // sysmon): real time, or a frozen clock would keep it from asking twice.
            Replace("deadline := nanotime() + ns", "deadline := nanotime1() + ns"),
            Replace("now := nanotime()", "now := nanotime1()"),
            // os/signal waits here for ever, in a "system call" that nothing will end: not awake.
            Replace(
                "\tentersyscallblock()\n\tok := notetsleep_internal(n, ns)\n",
                "\tentersyscallblock()\n\tsimSyscall(-1)\n\tok := notetsleep_internal(n, ns)\n\tsimSyscall(1)\n",
            ),
        ],
    },
    Edit {
        file: "runtime/netpoll_epoll.go",
        sha256: "cd94172ee133e4e522a8091818c6d82c9fdb94a9c263d5004feee114f76f9624",
        arch: None,
        changes: &[Before(
            "\tvar events [128]linux.EpollEvent\n",
            "\tif delay != 0 && simSlot != nil {\n\t\tsimPollWait(delay)\n\t\twaitms = 0\n\t}\n",
        )],
    },
    Edit {
        file: "runtime/runtime2.go",
        sha256: "1aae37f643d6092ab3911ae5bf95b14941e88efc2c17609bb1db29f6c70841dd",
        arch: None,
        changes: &[After(
            "\tself mWeakPointer\n",
            "\n\tsimLoose bool // at work without a P; see simclock.go\n",
        )],
    },
    Edit {
        file: "runtime/proc.go",
        sha256: "b0ea864c1dd251cd9146644863ae9126ca57761dff05862dc80ab0799925fec6",
        arch: None,
        changes: &[
            // Ps: idle or not, and how many there are.
            After("\tsched.npidle.Add(1)\n", "\tsimAwake(-1)\n"),
            After("\t\tsched.npidle.Add(-1)\n", "\t\tsimAwake(1)\n"),
            After("throw(\"procresize: invalid arg\")\n\t}\n", "\tsimAwake(int64(nprocs - max(old, 1)))\n"),
            // Goroutines in a system call without a P.
            After("\t\tsched.nGsyscallNoP.Add(1)\n", "\t\tsimSyscall(1)\n"),
            Before("\t\tsched.nGsyscallNoP.Add(-1)\n", "\t\tsimSyscall(-1)\n"),
            // Threads at work without a P: from the moment they give it up until they have one again or
            // sleep. Each of these may still find a timer or hold events that nobody else can see.
            Before("\tnow = pidleput(pp, now)\n\tunlock(&sched.lock)\n", "\tsimLoose()\n"),
            Before("\tdecGSyscallNoP(getg().m)\n\tdropg()\n", "\tsimLoose()\n"),
            Before("\tpidleput(pp, 0)\n\tunlock(&sched.lock)\n", "\tloose := simLoose()\n"),
            After("\tif when != 0 {\n\t\twakeNetPoller(when)\n\t}\n", "\tif loose {\n\t\tsimSettle()\n\t}\n"),
            Before(
                "\t\t\tlist, delta := netpoll(0) // non-blocking - returns list of goroutines\n",
                "\t\t\tsimLoose()\n",
            ),
            Before("\t\t}\n\t\t// Check if we need to update GOMAXPROCS", "\t\t\tsimSettle()\n"),
            After("\twirep(pp)\n", "\tsimSettle()\n"),
            Before("\tnotesleep(&gp.m.park)\n", "\tsimSettle()\n"),
            // Preemption and the taking back of Ps are about real time, also while the clock stands.
            Replace("if retake(now) != 0 {", "if retake(nanotime1()) != 0 {"),
        ],
    },
];

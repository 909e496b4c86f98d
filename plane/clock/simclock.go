// SimKube's clock for the Go runtime. This file is compiled into package
// runtime by `go build -overlay`, beside a few one-line hooks in the runtime's
// own files (crates/clock/src/edits.rs lists them).
//
// A process whose environment names a clock page (SIMKUBE_CLOCK) takes its time
// from that page and tells the coordinator, in its slot there, whether it is
// awake and when its next timer is due. Without the variable every function
// below returns at its first test and the runtime behaves as upstream's.
//
// docs/virtual-clock.md explains the page and why the hooks stand where they do;
// crates/clock/src/page.rs is the other side of the layout.

//go:build linux && (amd64 || arm64)

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// The page, in words of eight bytes. A test compares these numbers with page.rs.
const (
	simMagic   = 0x6b636f6c634b5353 // "SSKclock" read as a little-endian word
	simVersion = 1
	simBytes   = 8192

	simWordMagic      = 0
	simWordVersion    = 1
	simWordWallOffset = 2  // wall = virtual + this
	simWordHoldWish   = 3  // not 0: somebody outside wants time to stand; for the coordinator
	simWordSeq        = 8  // odd: being rewritten; bit 1 selects the mapping in force
	simWordMappings   = 16 // two mappings of eight words
	simWordAwake      = 32 // processes awake: a hint that tells who rings the bell
	simWordBell       = 40 // futex in the low half: rung when the last process falls asleep
	simWordWaiting    = 41 // not 0: the coordinator sleeps on the bell
	simWordSlots      = 64
	simSlotWords      = 8
	simSlotCount      = 120

	// One mapping: virtual = min(virtBase + (raw-rawBase)*num/den, limit).
	simMapRawBase  = 0
	simMapVirtBase = 1
	simMapNum      = 2
	simMapDen      = 3
	simMapLimit    = 4

	// One slot.
	simSlotPid      = 0 // 0: free
	simSlotAwake    = 1 // threads that may do something; 0: asleep
	simSlotGen      = 2 // changes whenever awake does
	simSlotDeadline = 3 // 0: nobody polls; simNever: polls without a timer; else when its timer is due
	simSlotPollFd   = 4 // epoll descriptor, readable while an event waits in it
	simSlotBreakFd  = 5 // eventfd that wakes the polling thread
	simSlotSyscalls = 6 // system calls without a P, part of awake

	simNever = 1<<63 - 1

	simPpoll     = 271*goarch.IsAmd64 + 73*goarch.IsArm64
	simFutexWake = 1 // shared between processes, unlike the runtime's own futexes

	// However far away the deadline, look at the clock this often: the mapping
	// may have changed since the wait was computed.
	simLongestWait = 100e6
	// Time may stand still just before a deadline. Do not spin there.
	simRepeatWait = 1e6
)

var (
	simPage       *[simBytes / 8]uint64 // shared memory, nil without a clock
	simSlot       *[simSlotWords]uint64
	simWallOffset int64
)

// simNanotime is nanotime. It samples the raw clock between two looks at the
// sequence, so no reading mixes two mappings and time never runs backwards.
//
//go:nosplit
func simNanotime() int64 {
	page := simPage
	if page == nil {
		return nanotime1()
	}
	for {
		seq := atomic.Load64(&page[simWordSeq])
		if seq&1 != 0 {
			procyield(1)
			continue
		}
		m := simWordMappings + (seq>>1&1)*8
		rawBase := int64(atomic.Load64(&page[m+simMapRawBase]))
		virtBase := int64(atomic.Load64(&page[m+simMapVirtBase]))
		num := int64(atomic.Load64(&page[m+simMapNum]))
		den := int64(atomic.Load64(&page[m+simMapDen]))
		limit := int64(atomic.Load64(&page[m+simMapLimit]))
		raw := nanotime1()
		if atomic.Load64(&page[simWordSeq]) != seq {
			continue
		}
		passed := raw - rawBase
		if num != 1 {
			passed *= num
		}
		if den != 1 {
			passed /= den
		}
		return min(virtBase+passed, limit)
	}
}

// simTimeNow is time.now for a process with a clock: the wall clock is the
// virtual one plus a constant, so the two never drift apart.
func simTimeNow() (sec int64, nsec int32, mono int64) {
	mono = simNanotime()
	wall := mono + simWallOffset
	sec = wall / 1e9
	rest := wall % 1e9
	if rest < 0 { // before 1970
		sec--
		rest += 1e9
	}
	return sec, int32(rest), mono
}

// simRealWait turns the time until a virtual deadline into the real time that a
// system call shall wait. Jumps need not be foreseen: the coordinator wakes us.
func simRealWait(deadline int64) int64 {
	left := deadline - simNanotime()
	if left <= 0 {
		return 0
	}
	page := simPage
	m := simWordMappings + (atomic.Load64(&page[simWordSeq])>>1&1)*8
	num := int64(atomic.Load64(&page[m+simMapNum]))
	den := int64(atomic.Load64(&page[m+simMapDen]))
	if num <= 0 || left > simLongestWait*num/den {
		return simLongestWait
	}
	return left*den/num + 1
}

// simAwake adds to the number of our threads that may do something: Ps that are
// not idle, threads at work without a P, goroutines in a system call without a P.
// Whoever goes last to sleep in the whole group rings the coordinator's bell.
//
//go:nosplit
func simAwake(change int64) {
	slot := simSlot
	if slot == nil || change == 0 {
		return
	}
	atomic.Xadd64(&slot[simSlotGen], 1)
	now := int64(atomic.Xadd64(&slot[simSlotAwake], change))
	switch {
	case now == 0:
		if atomic.Xadd64(&simPage[simWordAwake], -1) == 0 {
			simRing()
		}
	case now == change:
		atomic.Xadd64(&simPage[simWordAwake], 1)
	}
}

//go:nosplit
func simRing() {
	bell := unsafe.Pointer(&simPage[simWordBell])
	atomic.Xadd((*uint32)(bell), 1)
	if atomic.Load64(&simPage[simWordWaiting]) != 0 {
		futex(bell, simFutexWake, 1, nil, nil, 0)
	}
}

// simSyscall counts goroutines in a system call whose P was taken away.
//
//go:nosplit
func simSyscall(change int64) {
	if slot := simSlot; slot != nil {
		atomic.Xadd64(&slot[simSlotSyscalls], change)
		simAwake(change)
	}
}

// simLoose marks this thread as at work without a P: about to look for timers,
// to poll, to hand over what it found. It reports whether it was unmarked before.
//
//go:nosplit
func simLoose() bool {
	mp := getg().m
	if simSlot == nil || mp.simLoose {
		return false
	}
	mp.simLoose = true
	simAwake(1)
	return true
}

// simSettle ends simLoose: the thread got a P, parks, or waits in the poller.
//
//go:nosplit
func simSettle() {
	mp := getg().m
	if mp.simLoose {
		mp.simLoose = false
		simAwake(-1)
	}
}

// simPollWait waits until the poll descriptor has an event or the next timer is
// due, and takes nothing out of it: the event stays visible to the coordinator
// until this thread counts as awake. That is why it is not epoll_wait.
func simPollWait(delay int64) {
	deadline := int64(simNever)
	if delay > 0 {
		// The absolute time, not now+delay: this thread may have been
		// preempted since delay was computed.
		deadline = sched.pollUntil.Load()
	}
	slot := simSlot
	atomic.Store64(&slot[simSlotPollFd], uint64(epfd))
	atomic.Store64(&slot[simSlotBreakFd], uint64(netpollEventFd))
	atomic.Store64(&slot[simSlotDeadline], uint64(deadline))
	simSettle()
	wait := simRealWait(deadline)
	for {
		fd := struct {
			fd     int32
			events int16
			got    int16
		}{int32(epfd), linux.EPOLLIN, 0}
		ts := [2]int64{wait / 1e9, wait % 1e9}
		n, _, errno := linux.Syscall6(simPpoll, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		if errno == 0 && n > 0 || simNanotime() >= deadline {
			break
		}
		wait = max(simRealWait(deadline), simRepeatWait)
	}
	simLoose()
	atomic.Store64(&slot[simSlotDeadline], 0)
}

// simAttach maps the page and takes a slot. It runs once, before there is a
// second thread. A clock that was asked for and cannot be had ends the process:
// one process on real time among others on virtual time would only be confusing.
func simAttach() {
	path := gogetenv("SIMKUBE_CLOCK")
	if path == "" {
		return
	}
	name := make([]byte, len(path)+1)
	copy(name, path)
	const oRdwrCloexec = 2 | linux.O_CLOEXEC
	fd := open(&name[0], oRdwrCloexec, 0)
	if fd < 0 {
		simRefuse(path, "cannot be opened")
	}
	const mapShared = 1
	mem, errno := mmap(nil, simBytes, _PROT_READ|_PROT_WRITE, mapShared, fd, 0)
	closefd(fd)
	if errno != 0 {
		simRefuse(path, "cannot be mapped")
	}
	page := (*[simBytes / 8]uint64)(mem)
	if page[simWordMagic] != simMagic || page[simWordVersion] != simVersion {
		simRefuse(path, "is not a clock page of this version")
	}
	for i := 0; i < simSlotCount; i++ {
		slot := (*[simSlotWords]uint64)(unsafe.Pointer(&page[simWordSlots+i*simSlotWords]))
		if atomic.Cas64(&slot[simSlotPid], 0, uint64(getpid())) {
			simWallOffset = int64(page[simWordWallOffset])
			simPage = page
			simSlot = slot
			simAwake(1) // the P that runs this; procresize adds the others
			return
		}
	}
	simRefuse(path, "has no free slot")
}

func simRefuse(path, why string) {
	print("simkube: clock page ", path, " ", why, "\n")
	exit(2)
}

// Peer is one of the processes of the stress test: it answers requests, sends
// its own to the other peers, sleeps, and writes files, all at random, and
// checks what it sees of the clock. stress.rs starts it and reads its summary.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var (
	exchanges = flag.Int64("exchanges", 1000, "how many things to do")
	workers   = flag.Int("workers", 2, "goroutines that do them")
	seed      = flag.Uint64("seed", 1, "of the random choices")
	slowness  = flag.Int64("slowness", 1, "real time per virtual time while busy")
	dir       = flag.String("dir", os.TempDir(), "where to write files")
)

// Summary is what the test asserts on. Times are virtual nanoseconds.
type Summary struct {
	Done      int64 // exchanges of all kinds
	Requests  int64 // those that could be in flight during a jump
	Leaks     int64 // requests that saw more time pass than really did
	FileLeaks int64 // those of them that were file operations
	BigLeaks  int64 // those of them that had large answers
	LeakMax   int64
	Early     int64 // timers that fired before their time
	LateMax   int64 // the latest timer, ours or one behind a request
	Backwards int64 // answers that were stamped outside of their request
}

var sum Summary

func main() {
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr())
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	check(err)
	go serve(listener)

	var wait sync.WaitGroup
	var left atomic.Int64
	left.Store(*exchanges)
	for i := range *workers {
		random := rand.New(rand.NewPCG(*seed, uint64(i)))
		var peers []net.Conn
		for _, address := range strings.Fields(line) {
			peer, err := net.Dial("tcp", address)
			check(err)
			peers = append(peers, peer)
		}
		wait.Go(func() {
			for left.Add(-1) >= 0 {
				act(random, peers, i)
			}
		})
	}
	wait.Wait()
	check(json.NewEncoder(os.Stdout).Encode(&sum))
	// Answer the others until the test ends us. (Waiting for the end of our input
	// would be a system call that never returns: awake for ever.)
	select {}
}

func act(random *rand.Rand, peers []net.Conn, worker int) {
	atomic.AddInt64(&sum.Done, 1)
	pause := time.Duration(random.Int64N(int64(200 * time.Millisecond)))
	switch random.IntN(10) {
	case 0, 1, 2:
		start := time.Now()
		time.Sleep(pause)
		timer(time.Since(start), pause)
	case 3:
		start := time.Now()
		select {
		case <-time.After(pause):
			timer(time.Since(start), pause)
		case <-time.After(pause + time.Hour):
		}
	case 4:
		took := request(random, peers, pause, 16)
		timer(took, pause)
	case 5:
		// A system call that may keep its thread for long.
		inFlight(&sum.FileLeaks, func() {
			name := filepath.Join(*dir, fmt.Sprint(os.Getpid(), "-", worker))
			file, err := os.Create(name)
			check(err)
			file.Write(make([]byte, 4096))
			if random.IntN(16) == 0 {
				file.Sync()
			}
			file.Close()
		})
	case 6:
		inFlight(&sum.BigLeaks, func() { request(random, peers, 0, 1+random.IntN(1<<18)) })
	default:
		inFlight(nil, func() { request(random, peers, 0, 16) })
	}
}

// request asks a peer for an answer of some size after some time and returns
// how long that took.
func request(random *rand.Rand, peers []net.Conn, pause time.Duration, size int) time.Duration {
	peer := peers[random.IntN(len(peers))]
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:], uint64(pause))
	binary.LittleEndian.PutUint64(head[8:], uint64(size))
	start := time.Now()
	_, err := peer.Write(head[:])
	check(err)
	answer := make([]byte, 8+size)
	_, err = io.ReadFull(peer, answer)
	check(err)
	end := time.Now()
	stamp := int64(binary.LittleEndian.Uint64(answer))
	if stamp < start.UnixNano() || stamp > end.UnixNano() {
		atomic.AddInt64(&sum.Backwards, 1)
	}
	return end.Sub(start)
}

func serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		check(err)
		go func() {
			var head [16]byte
			for {
				if _, err := io.ReadFull(conn, head[:]); err != nil {
					return
				}
				if pause := time.Duration(binary.LittleEndian.Uint64(head[:])); pause > 0 {
					time.Sleep(pause)
				}
				answer := make([]byte, 8+binary.LittleEndian.Uint64(head[8:]))
				binary.LittleEndian.PutUint64(answer, uint64(time.Now().UnixNano()))
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}

// inFlight runs what no jump may happen in: there is no timer in it, so virtual
// time may pass as real time does and no faster. Leaks count in kind, too.
func inFlight(kind *int64, run func()) {
	raw := monotonic()
	start := time.Now()
	run()
	took := time.Since(start)
	real := monotonic() - raw
	atomic.AddInt64(&sum.Requests, 1)
	if leak := int64(took) - real / *slowness - 2; leak > 0 {
		atomic.AddInt64(&sum.Leaks, 1)
		if kind != nil {
			atomic.AddInt64(kind, 1)
		}
		atMost(&sum.LeakMax, leak)
	}
}

func timer(took, pause time.Duration) {
	if took < pause {
		atomic.AddInt64(&sum.Early, 1)
	}
	atMost(&sum.LateMax, int64(took-pause))
}

func atMost(most *int64, value int64) {
	for {
		old := atomic.LoadInt64(most)
		if value <= old || atomic.CompareAndSwapInt64(most, old, value) {
			return
		}
	}
}

// monotonic asks the kernel, past the runtime's clock.
func monotonic() int64 {
	var ts syscall.Timespec
	const clockMonotonic = 1
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

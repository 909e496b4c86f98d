// Selftest shows that every kind of waiting in a Go program follows the clock.
// `selftest serve` prints its address and answers; `selftest ADDRESS` waits in
// every way, partly for the other process, and prints one JSON line for each:
// what it waited for and how long that took. skctl plane check-clock judges.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Measure is one line of the output. Durations are in nanoseconds.
type Measure struct {
	Name   string
	Wanted time.Duration
	Timers int // how many timers were waited for, one after the other
	Took   time.Duration
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		serve()
	}
	server := "http://" + os.Args[1]
	out := json.NewEncoder(os.Stdout)
	measure := func(name string, wanted time.Duration, timers int, wait func()) {
		start := time.Now()
		wait()
		check(out.Encode(Measure{name, wanted, timers, time.Since(start)}))
	}

	for _, pause := range []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour} {
		measure("sleep "+pause.String(), pause, 1, func() { time.Sleep(pause) })
	}
	measure("ticker, 10 times 30s", 5*time.Minute, 1, func() {
		ticker := time.NewTicker(30 * time.Second)
		for range 10 {
			<-ticker.C
		}
	})
	measure("callback after 5m", 5*time.Minute, 1, func() {
		done := make(chan struct{})
		time.AfterFunc(5*time.Minute, func() { close(done) })
		<-done
	})
	measure("context with timeout 90s", 90*time.Second, 1, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		defer cancel()
		<-ctx.Done()
	})
	measure("socket with read deadline 20s", 20*time.Second, 1, func() {
		conn, err := net.Dial("tcp", os.Args[1])
		check(err)
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); !os.IsTimeout(err) {
			check(fmt.Errorf("expected a timeout, got %v", err))
		}
	})
	measure("20 requests of 2s to the other process", 40*time.Second, 20, func() {
		for range 20 {
			get(http.DefaultClient, server+"/?wait=2s")
		}
	})
	measure("request with timeout 3s to a handler of 10s", 3*time.Second, 1, func() {
		client := http.Client{Timeout: 3 * time.Second}
		if _, err := client.Get(server + "/?wait=10s"); !os.IsTimeout(err) {
			check(fmt.Errorf("expected a timeout, got %v", err))
		}
	})
	measure("1000 requests that take no time", 0, 0, func() {
		for range 1000 {
			get(http.DefaultClient, server+"/")
		}
	})
	measure("100 files written to disk", 0, 0, func() {
		dir, err := os.MkdirTemp("", "simkube-clock-")
		check(err)
		defer os.RemoveAll(dir)
		for i := range 100 {
			file, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
			check(err)
			file.Write(make([]byte, 1<<16))
			check(file.Sync())
			check(file.Close())
		}
	})
}

func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr())
	check(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait, _ := time.ParseDuration(r.FormValue("wait"))
		time.Sleep(wait)
	})))
}

func get(client *http.Client, url string) {
	answer, err := client.Get(url)
	check(err)
	check(answer.Body.Close())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "selftest:", err)
		os.Exit(1)
	}
}

// Sleep prints its date, waits, and prints how long that took; with -forever it
// does so again and again, silently with -quiet; with -spin it never rests.
package main

import (
	"flag"
	"fmt"
	"time"
)

func main() {
	wait := flag.Duration("wait", time.Second, "how long to sleep")
	forever := flag.Bool("forever", false, "repeat")
	quiet := flag.Bool("quiet", false, "do not print durations")
	spin := flag.Bool("spin", false, "be busy instead")
	flag.Parse()
	fmt.Println(time.Now().UTC().Format(time.RFC3339Nano))
	for *spin {
	}
	for {
		start := time.Now()
		time.Sleep(*wait)
		if !*quiet {
			fmt.Println(int64(time.Since(start)))
		}
		if !*forever {
			return
		}
	}
}

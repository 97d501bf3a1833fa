// Command load takes memory in steps and burns CPU, by its flags and for each request that it serves: what runs in the
// containers of the tests on a real node. It keeps what it took until it gets a signal.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const (
	mebibyte = 1 << 20
	// slot is the period of burning CPU: for a part of it, then idle.
	slot = 50 * time.Millisecond
)

func main() {
	memory := flag.Int("memory-mib", 0, "how much memory to take, in MiB")
	step := flag.Int("step-mib", 8, "how much of it at a time, in MiB")
	every := flag.Duration("every", 50*time.Millisecond, "how long to wait between two steps")
	cpu := flag.Int("cpu-milli", 0, "how much CPU to burn, in thousandths of a core")
	listen := flag.String("listen", "",
		"where to serve requests, each of which burns CPU for as long as its query says: /?10ms")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	for left := *cpu; left > 0; left -= 1000 {
		go burn(ctx, slot*time.Duration(min(left, 1000))/1000)
	}
	if *listen != "" {
		go func() {
			defer stop()
			fmt.Fprintln(os.Stderr, serve(*listen))
		}()
	}
	held := take(ctx, *memory, *step, *every)
	fmt.Fprintf(os.Stdout, "holding %d MiB in %d parts\n", *memory, len(held))
	<-ctx.Done()
	runtime.KeepAlive(held)
}

// take takes memory and writes to it: pages that are never written cost nothing.
func take(ctx context.Context, total, step int, every time.Duration) [][]byte {
	var held [][]byte
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for taken := 0; taken < total && ctx.Err() == nil; taken += step {
		part := make([]byte, min(step, total-taken)*mebibyte)
		for i := 0; i < len(part); i += 512 {
			part[i] = 1
		}
		held = append(held, part)
		<-ticker.C
	}
	return held
}

// serve burns CPU for requests. It returns if it cannot.
func serve(address string) error {
	server := &http.Server{Addr: address, ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			busy, err := time.ParseDuration(r.URL.RawQuery)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			use(busy)
		})}
	return server.ListenAndServe()
}

// use uses a processor for so long.
func use(busy time.Duration) {
	for began := time.Now(); time.Since(began) < busy; {
	}
}

// burn uses a processor for so long of each slot.
func burn(ctx context.Context, busy time.Duration) {
	ticker := time.NewTicker(slot)
	defer ticker.Stop()
	for ctx.Err() == nil {
		use(busy)
		<-ticker.C
	}
}

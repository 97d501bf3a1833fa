// Command requestexporter runs beside nginx in a pod and serves nginx's own count of requests as a metric. It reads
// nginx once for each page.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const timeout = time.Second

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: requestexporter LISTEN-ADDRESS STUB-STATUS-URL")
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "requestexporter:", err)
	}
}

func run(ctx context.Context, address, url string) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics(url))
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: timeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // ends ListenAndServe
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func metrics(url string) http.HandlerFunc {
	client := &http.Client{Timeout: timeout}
	return func(w http.ResponseWriter, r *http.Request) {
		count, err := requests(r.Context(), client, url)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		// A client that has gone needs no error.
		_, _ = fmt.Fprintf(w, "# HELP http_requests_total Requests that nginx has counted.\n"+
			"# TYPE http_requests_total counter\nhttp_requests_total %d\n", count)
	}
}

// requests reads nginx's count of served requests, this one included.
func requests(ctx context.Context, client *http.Client, url string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("nginx answers %s", response.Status)
	}
	return parse(response.Body)
}

// parse reads the page of nginx' module stub_status: the third number of its third line.
//
//	Active connections: 1
//	server accepts handled requests
//	 16 16 31
//	Reading: 0 Writing: 1 Waiting: 0
func parse(page io.Reader) (int64, error) {
	lines := bufio.NewScanner(io.LimitReader(page, 4096))
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) != "server accepts handled requests" || !lines.Scan() {
			continue
		}
		if fields := strings.Fields(lines.Text()); len(fields) == 3 {
			return strconv.ParseInt(fields[2], 10, 64)
		}
	}
	return 0, errors.Join(errors.New("nginx' page has no count of requests"), lines.Err())
}

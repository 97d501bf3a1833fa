// Command memoryserver is a web server that needs memory for each of its clients, as servers with sessions do: a
// connection takes it with its first request and gives it back when it is closed.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	headerTimeout = time.Second
	// answerDelay is the duration of a response, nearly all of it without CPU: the load needs memory.
	answerDelay = 50 * time.Millisecond
	mebibyte    = 1 << 20
	pageBytes   = 4096
)

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "memoryserver:", err)
	}
}

func start(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: memoryserver LISTEN-ADDRESS MIB-PER-CONNECTION")
	}
	perConnection, err := strconv.Atoi(args[1])
	if err != nil || perConnection < 1 || perConnection > 1024 {
		return fmt.Errorf("%q is not a number of MiB from 1 to 1024", args[1])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args[0], perConnection*mebibyte)
}

func run(ctx context.Context, address string, bytes int) error {
	server := newServer(newSessions(bytes))
	server.Addr = address
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // ends ListenAndServe
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connection is the key of the connection in a request's context.
type connection struct{}

func newServer(s *sessions) *http.Server {
	mux := http.NewServeMux()
	// A probe is no client.
	mux.HandleFunc("GET /ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		client, ok := r.Context().Value(connection{}).(net.Conn)
		if !ok {
			http.Error(w, "the connection is not known", http.StatusInternalServerError)
			return
		}
		if err := s.begin(client); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(answerDelay):
			// A client that has gone needs no error.
			_, _ = fmt.Fprintln(w, "It works")
		}
	})
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout,
		ConnContext: func(ctx context.Context, client net.Conn) context.Context {
			return context.WithValue(ctx, connection{}, client)
		},
		ConnState: func(client net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				s.end(client)
			}
		},
	}
}

package nodeagent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// interrupted is a listener that returns errors before connections.
type interrupted struct {
	net.Listener
	wrong chan error
}

// Accept implements net.Listener.
func (i *interrupted) Accept() (net.Conn, error) {
	select {
	case err := <-i.wrong:
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
	default:
		return i.Listener.Accept()
	}
}

// TestErrorsOfAccepting: an agent that has run out of files, or of memory for a connection, serves again later. It does
// not exit: it would need a certificate again, and the kubelet would restart it less and less often.
func TestErrorsOfAccepting(t *testing.T) {
	own := authority(t)
	a := &agent{authorityFile: filepath.Join(t.TempDir(), "ca.crt")}
	a.writeAuthority(t, own.PEM())
	identity, err := NewIdentity(IdentityConfig{AuthorityFile: a.authorityFile, TokenFile: "none", Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.address = listener.Addr().String()
	failing := &interrupted{Listener: listener, wrong: make(chan error, 4)}
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.EPROTO} {
		failing.wrong <- err
	}
	directory, _ := filled(t, 1)
	server := NewServer(handlerOf(t, directory), identity, logr.Discard())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(Listen(failing, identity)) }()
	shown := issued(t, own, "plimsoll-controller", x509.ExtKeyUsageClientAuth)
	code, _, err := a.call(t, client(t, shown, nil), http.MethodPost, selection.UsagePath, "")
	if err != nil || code != http.StatusOK {
		t.Errorf("a client gets %d: %v", code, err)
	}
	_ = server.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("the server ended: %v", err)
	}
}

// TestBrokenListener: a listener that only returns errors is called with a backoff.
func TestBrokenListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		a := newAdmission(accepting(func() (net.Conn, error) { asked++; return nil, syscall.EMFILE }), &tls.Config{})
		go func() { _, _ = a.Accept() }()
		<-time.After(time.Minute)
		_ = a.Close()
		synctest.Wait()
		if asked < 60 || asked > 70 {
			t.Errorf("asked %d times a minute", asked)
		}
	})
}

// accepting is a listener without an address.
type accepting func() (net.Conn, error)

// Accept implements net.Listener.
func (a accepting) Accept() (net.Conn, error) { return a() }

// Close implements net.Listener.
func (a accepting) Close() error { return nil }

// Addr implements net.Listener.
func (a accepting) Addr() net.Addr { return &net.TCPAddr{} }

// TestFlood: a host that connects all the time, so fast that no handshake can finish, displaces its own connections and
// not those of other addresses.
func TestFlood(t *testing.T) {
	a := newAdmission(accepting(nil), &tls.Config{})
	client := &stranger{from: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}}
	shown := a.enter(client)
	var flood []*stranger
	for port := range 1000 {
		one := &stranger{from: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: port}}
		a.enter(one)
		flood = append(flood, one)
	}
	if client.isClosed || a.strangers.Len() != maxStrangers {
		t.Errorf("%d strangers; the client's connection is closed: %t", a.strangers.Len(), client.isClosed)
	}
	for i, one := range flood {
		if want := i < len(flood)-maxStrangers+1; one.isClosed != want {
			t.Errorf("connection %d of the flood is closed: %t", i, one.isClosed)
		}
	}
	a.strangers.Remove(shown)
	// As many addresses with one connection each keep theirs, which came before the flood's.
	for host := range byte(maxStrangers) {
		a.enter(&stranger{from: &net.TCPAddr{IP: net.IPv4(10, 0, 1, host), Port: 1}})
	}
	if a.strangers.Len() != maxStrangers {
		t.Errorf("%d strangers", a.strangers.Len())
	}
}

// stranger is a connection from somewhere.
type stranger struct {
	net.Conn
	from     net.Addr
	isClosed bool
}

// RemoteAddr implements net.Conn.
func (s *stranger) RemoteAddr() net.Addr { return s.from }

// Close implements net.Conn.
func (s *stranger) Close() error {
	s.isClosed = true
	return nil
}

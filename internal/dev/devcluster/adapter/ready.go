package adapter

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
)

const (
	readyTimeout  = 20 * time.Second
	readyInterval = 20 * time.Millisecond
)

// awaitFrontProxy waits until the server accepts the API server's client certificate. The generic API server begins to
// serve before it has read that CA from the cluster, and until then takes every caller for anonymous; it has no
// readiness check for this, but names the CAs that it accepts in each handshake.
func (s *Server) awaitFrontProxy(ctx context.Context, ca dynamiccertificates.CAContentProvider) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("the request-header CA was not read in time"))
	defer cancel()
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		accepted, err := s.acceptedCAs(ctx)
		if err == nil && acceptsAll(accepted, ca.CurrentCABundleContent()) {
			return nil
		}
		select {
		case <-s.done:
			return errors.New("ended before it was ready")
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not ready: %w", context.Cause(ctx)), err)
		case <-ticker.C:
		}
	}
}

// acceptedCAs makes one handshake and returns the subjects of the CAs that the server names in it.
func (s *Server) acceptedCAs(ctx context.Context) ([][]byte, error) {
	var accepted [][]byte
	dialer := tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, // this connection to ourselves carries nothing
		MinVersion:         tls.VersionTLS12,
		GetClientCertificate: func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			accepted = info.AcceptableCAs
			return &tls.Certificate{}, nil
		},
	}}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		return nil, err
	}
	return accepted, connection.Close()
}

// acceptsAll is false for an empty bundle, which is one not read yet.
func acceptsAll(accepted [][]byte, bundle []byte) bool {
	authorities, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return false
	}
	for _, authority := range authorities {
		known := func(subject []byte) bool { return bytes.Equal(subject, authority.RawSubject) }
		if !slices.ContainsFunc(accepted, known) {
			return false
		}
	}
	return true
}

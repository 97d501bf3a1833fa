package kubelet

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// authorityPeriod is the period of reading the CA file while all certificates verify.
const authorityPeriod = time.Minute

// errNoCertificate refuses a file without certificates, with which those of the system would be trusted.
var errNoCertificate = errors.New("there is no certificate in it")

// authority is a transport that verifies kubelets with the CA that is in a file now. While a CA is renewed, some nodes
// have certificates of the old one, others of the new one: if the file has both until all are renewed, no kubelet is
// refused, without a restart of Plimsoll.
type authority struct {
	file string
	log  logr.Logger
	// build makes a transport that trusts the certificates, in PEM.
	build func(ca []byte) (*http.Transport, error)

	// mu guards the following.
	mu sync.Mutex
	// current trusts the certificates in ca.
	current *http.Transport
	ca      []byte
	checked time.Time
	// complaint is the error of the last check of the file.
	complaint string
}

func newAuthority(file string, build func(ca []byte) (*http.Transport, error), log logr.Logger) (*authority, error) {
	a := &authority{file: file, build: build, log: log}
	if err := a.readLocked(); err != nil {
		return nil, a.wrong(err)
	}
	a.checked = time.Now()
	return a, nil
}

// RoundTrip implements http.RoundTripper. If a certificate does not verify, it reads the file at once, and repeats the
// request with a changed CA: the request has no body, and none of it was sent.
func (a *authority) RoundTrip(request *http.Request) (*http.Response, error) {
	known := a.transport(false)
	response, err := known.RoundTrip(request)
	if !isUntrusted(err) {
		return response, err
	}
	if newer := a.transport(true); newer != known {
		return newer.RoundTrip(request)
	}
	return nil, err
}

func isUntrusted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}

// transport returns the current transport. It reads the file if authorityPeriod has passed, or atOnce. An unusable file
// leaves the CA unchanged.
func (a *authority) transport(atOnce bool) *http.Transport {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if !atOnce && now.Sub(a.checked) < authorityPeriod {
		return a.current
	}
	a.checked = now
	complaint := ""
	if err := a.readLocked(); err != nil {
		complaint = a.wrong(err).Error()
	}
	if complaint != "" && complaint != a.complaint {
		a.log.Info("kubelets are verified with the CA as it was before", "why", complaint)
	}
	a.complaint = complaint
	return a.current
}

// readLocked reads the file, and replaces the transport if it has changed.
func (a *authority) readLocked() error {
	ca, err := os.ReadFile(a.file)
	switch {
	case err != nil:
		return err
	case len(bytes.TrimSpace(ca)) == 0:
		return errNoCertificate
	case bytes.Equal(ca, a.ca):
		return nil
	}
	transport, err := a.build(ca)
	if err != nil {
		return err
	}
	if a.current != nil {
		a.log.Info("kubelets are verified with another CA from now on", "file", a.file)
		// Idle connections were verified with the previous CA.
		a.current.CloseIdleConnections()
	}
	a.current, a.ca = transport, ca
	return nil
}

func (a *authority) wrong(err error) error {
	return fmt.Errorf("the CA of kubelets in %s: %w", a.file, err)
}

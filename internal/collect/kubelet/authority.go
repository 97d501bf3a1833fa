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

// authorityPeriod is how often the file of a CA is looked at while all is well.
const authorityPeriod = time.Minute

// errNoCertificate is what is wrong with a file in which there is nothing: without
// certificates, those of the system would count.
var errNoCertificate = errors.New("there is no certificate in it")

// authority is a transport that verifies kubelets with the CA that stands in a file
// now. A CA is renewed while nodes go on with certificates of the old one, and
// others come with those of the new one: whoever puts both into the file, then the
// new one alone, is never refused, without a restart here.
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
	// complaint is what was wrong with the file when it was last looked at.
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

// RoundTrip implements http.RoundTripper. A certificate that is not of the CA is a
// reason to look into the file at once, and to ask again if there is another CA: the
// request has no body, and nothing of it was sent.
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

// transport is the one for now. It looks into the file if it has not for a while, or
// at once. What cannot be used is left alone: the CA as it was goes on.
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

// readLocked takes in the file if it has changed.
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
		// What is open was verified with the CA before.
		a.current.CloseIdleConnections()
	}
	a.current, a.ca = transport, ca
	return nil
}

func (a *authority) wrong(err error) error {
	return fmt.Errorf("the CA of kubelets in %s: %w", a.file, err)
}

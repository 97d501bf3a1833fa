package upkeep

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
)

// Certificates provides the certificate to show and the authorities to trust.
type Certificates interface {
	// Refresh reads and renews them.
	Refresh(ctx context.Context, now time.Time) error
	// Shown returns the certificate of the last successful Refresh; nil before.
	Shown() *certificate.Shown
}

var (
	_ Certificates = (*certificate.Kept)(nil)
	_ Certificates = (*certificate.Files)(nil)
)

// pathIntervals is the number of intervals for which the API server must have had the path before it is required: in
// one of them a replica of an older version would have removed it.
const pathIntervals = 3

// Runner keeps certificates, registration and Lease up to date.
type Runner struct {
	Certificates Certificates
	// Registration is nil where something else registers the server.
	Registration *Registration
	// RequirePath gets the only path to accept, empty for any: webhook.Guard's Require. It may be nil.
	RequirePath func(path string)
	// Clients is nil if any client may connect.
	Clients *certificate.Clients
	Lease   *Lease
	// Interval is the period of checking certificates and registration, LeaseInterval that of renewing the Lease.
	Interval, LeaseInterval time.Duration
	Log                     logr.Logger

	// logged is the last logged certificate.
	logged *certificate.Shown
	// isUnknown is true if the API server certainly sends no requests to this server.
	isUnknown bool
}

// TLS shows the certificate that is current when a connection is made.
func (r *Runner) TLS(base *tls.Config) *tls.Config {
	base.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		shown := r.Certificates.Shown()
		if shown == nil {
			return nil, errors.New("no certificate yet")
		}
		return shown.Certificate, nil
	}
	if r.Clients != nil {
		base.ClientAuth = tls.RequireAndVerifyClientCert
		base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			current := base.Clone()
			current.ClientCAs = r.Clients.Pool()
			return current, nil
		}
	}
	return base
}

// Run refreshes certificates, registration and Lease until ctx ends. Call it once the server is listening; the Lease is
// renewed from the first registration on.
func (r *Runner) Run(ctx context.Context) {
	check, renew := time.NewTicker(r.Interval), time.NewTicker(r.LeaseInterval)
	defer check.Stop()
	defer renew.Stop()
	registered := r.check(ctx)
	r.renew(ctx, registered)
	for {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
			// A registration stays, unless the configuration is gone: one failed call changes nothing.
			registered = r.check(ctx) || registered && !r.isUnknown
		case <-renew.C:
			if !registered {
				registered = r.check(ctx)
			}
			r.renew(ctx, registered)
		}
	}
}

// check refreshes certificates and registration. It reports whether the server is registered.
func (r *Runner) check(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, r.LeaseInterval)
	defer cancel()
	if err := r.Certificates.Refresh(ctx, time.Now()); err != nil {
		r.Log.Error(err, "renewing certificates failed; still serving the previous ones")
	}
	if r.Clients != nil {
		if err := r.Clients.Refresh(); err != nil {
			r.Log.Error(err, "reloading the client CA failed; still using the previous one")
		}
	}
	shown := r.Certificates.Shown()
	r.logCertificates(shown)
	if r.Registration == nil {
		return true
	}
	if shown == nil {
		return false
	}
	err := r.Registration.Ensure(ctx, shown.Authorities, shown.Path)
	r.isUnknown = errors.Is(err, ErrMissing)
	if err != nil {
		r.Log.Error(err, "registering with the API server failed; retrying", "configuration", ConfigurationName)
		return false
	}
	if r.RequirePath != nil {
		required := ""
		if r.Registration.HasPath(pathIntervals * r.Interval) {
			required = shown.Path
		}
		r.RequirePath(required)
	}
	return true
}

func (r *Runner) logCertificates(shown *certificate.Shown) {
	before := r.logged
	if r.logged = shown; shown == nil || shown == before {
		return
	}
	leaf := shown.Certificate.Leaf
	if leaf != nil && (before == nil || !leaf.Equal(before.Certificate.Leaf)) {
		r.Log.Info("serving certificate loaded", "serial", leaf.SerialNumber.Text(16), "notBefore", leaf.NotBefore,
			"notAfter", leaf.NotAfter)
	}
	if before != nil && !bytes.Equal(before.Authorities, shown.Authorities) {
		r.Log.Info("client CA reloaded",
			"certificates", bytes.Count(shown.Authorities, []byte("BEGIN CERTIFICATE")))
	}
}

func (r *Runner) renew(ctx context.Context, registered bool) {
	if !registered {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.LeaseInterval)
	defer cancel()
	if err := r.Lease.Renew(ctx, time.Now()); err != nil {
		r.Log.Error(err, "renewing the Lease failed; the updater evicts nothing while it is stale", "lease", r.Lease.Name)
	}
}

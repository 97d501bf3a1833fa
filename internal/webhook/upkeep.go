package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
)

// Certificates are what the server shows and what vouches for it.
type Certificates interface {
	// Refresh reads and renews them.
	Refresh(ctx context.Context, now time.Time) error
	// Shown is what holds since the last Refresh that succeeded; nil before.
	Shown() *certificate.Shown
}

var (
	_ Certificates = (*certificate.Kept)(nil)
	_ Certificates = (*certificate.Files)(nil)
)

// Upkeep keeps the server findable, believed, and known to be there.
type Upkeep struct {
	Certificates Certificates
	// Registration is nil where somebody else registers the server.
	Registration *Registration
	Lease        *Lease
	// Interval is how often certificates and registration are looked at,
	// LeaseInterval how often the Lease is renewed.
	Interval, LeaseInterval time.Duration
	Log                     logr.Logger
}

// TLS shows whatever certificate holds when a connection is made.
func (u *Upkeep) TLS(base *tls.Config) *tls.Config {
	base.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		shown := u.Certificates.Shown()
		if shown == nil {
			return nil, errors.New("no certificate yet")
		}
		return shown.Certificate, nil
	}
	return base
}

// Run looks after everything until ctx ends. It is called once the server answers;
// the Lease is renewed from when the server is registered.
func (u *Upkeep) Run(ctx context.Context) {
	look, renew := time.NewTicker(u.Interval), time.NewTicker(u.LeaseInterval)
	defer look.Stop()
	defer renew.Stop()
	registered := u.look(ctx)
	u.renew(ctx, registered)
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			// What was registered stays so: one call that fails changes nothing.
			registered = u.look(ctx) || registered
		case <-renew.C:
			if !registered {
				registered = u.look(ctx)
			}
			u.renew(ctx, registered)
		}
	}
}

// look reports whether the API server knows where the server is.
func (u *Upkeep) look(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, u.LeaseInterval)
	defer cancel()
	if err := u.Certificates.Refresh(ctx, time.Now()); err != nil {
		u.Log.Error(err, "Renewing certificates; those from before are shown")
	}
	if u.Registration == nil {
		return true
	}
	shown := u.Certificates.Shown()
	if shown == nil {
		return false
	}
	if err := u.Registration.Ensure(ctx, shown.Authorities); err != nil {
		u.Log.Error(err, "Registering with the API server; trying again", "configuration", ConfigurationName)
		return false
	}
	return true
}

func (u *Upkeep) renew(ctx context.Context, registered bool) {
	if !registered {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, u.LeaseInterval)
	defer cancel()
	if err := u.Lease.Renew(ctx, time.Now()); err != nil {
		u.Log.Error(err, "The updater will not evict anything while the Lease is old", "lease", u.Lease.Name)
	}
}

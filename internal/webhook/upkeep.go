package webhook

import (
	"bytes"
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

// pathIntervals is how many intervals the API server must have had the path before no
// other is answered: in one of them a replica of an older version would have taken it away.
const pathIntervals = 3

// Upkeep keeps the server findable, believed, and known to be there.
type Upkeep struct {
	Certificates Certificates
	// Registration is nil where somebody else registers the server.
	Registration *Registration
	// Guard is told the path that the API server asks at; nil for none.
	Guard *Guard
	// Clients is nil where anybody may connect.
	Clients *certificate.Clients
	Lease   *Lease
	// Interval is how often certificates and registration are looked at,
	// LeaseInterval how often the Lease is renewed.
	Interval, LeaseInterval time.Duration
	Log                     logr.Logger

	// logged is what the log says is shown.
	logged *certificate.Shown
	// isUnknown says that the API server is certain not to ask this server.
	isUnknown bool
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
	if u.Clients != nil {
		base.ClientAuth = tls.RequireAndVerifyClientCert
		base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			current := base.Clone()
			current.ClientCAs = u.Clients.Pool()
			return current, nil
		}
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
			// What was registered stays so, but for a configuration that is gone: one call
			// that fails changes nothing.
			registered = u.look(ctx) || registered && !u.isUnknown
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
	if u.Clients != nil {
		if err := u.Clients.Refresh(); err != nil {
			u.Log.Error(err, "Who may connect; it is who might before")
		}
	}
	shown := u.Certificates.Shown()
	u.tell(shown)
	if u.Registration == nil {
		return true
	}
	if shown == nil {
		return false
	}
	err := u.Registration.Ensure(ctx, shown.Authorities, shown.Path)
	u.isUnknown = errors.Is(err, ErrMissing)
	if err != nil {
		u.Log.Error(err, "Registering with the API server; trying again", "configuration", ConfigurationName)
		return false
	}
	if u.Guard != nil {
		required := ""
		if u.Registration.HasPath(pathIntervals * u.Interval) {
			required = shown.Path
		}
		u.Guard.Require(required)
	}
	return true
}

// tell logs that other certificates count from now on.
func (u *Upkeep) tell(shown *certificate.Shown) {
	before := u.logged
	if u.logged = shown; shown == nil || shown == before {
		return
	}
	leaf := shown.Certificate.Leaf
	if leaf != nil && (before == nil || !leaf.Equal(before.Certificate.Leaf)) {
		u.Log.Info("Serving certificate loaded", "serial", leaf.SerialNumber.Text(16), "notBefore", leaf.NotBefore, "notAfter", leaf.NotAfter)
	}
	if before != nil && !bytes.Equal(before.Authorities, shown.Authorities) {
		u.Log.Info("Certificate authorities reloaded", "certificates", bytes.Count(shown.Authorities, []byte("BEGIN CERTIFICATE")))
	}
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

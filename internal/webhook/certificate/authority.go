package certificate

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"time"
)

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// held is the content of the Secret: the signing authority, the trusted ones, and the served certificate.
type held struct {
	// authority signs; next will sign once every API server trusts it.
	authority, next *pair
	// trusted are authority, next, and earlier ones that are still valid.
	trusted []*x509.Certificate
	server  *pair
	// path is the path to which the API server sends requests.
	path string
}

// Terms has the names and lifetimes of certificates.
type Terms struct {
	// Names are the DNS names and addresses of the server.
	Names []string
	// Lifetime is the server certificate's; a third before its end there is a new one.
	Lifetime time.Duration
	// Settle is how long an authority is published before it signs.
	Settle time.Duration
	// Authority and Holder are the common names of the authority and of the certificate; empty for those of the admission
	// server.
	Authority, Holder string
	// IsClient makes a client certificate, which no server can use.
	IsClient bool
}

// authorityLifetimes is the lifetime of an authority in those of server certificates.
const authorityLifetimes = 4

// backdate tolerates slow clocks.
func (t Terms) backdate() time.Duration { return min(5*time.Minute, t.Lifetime/10) }

// renew renews certificates that are due, and reports whether there were any.
func (t Terms) renew(now time.Time, h held) (held, bool, error) {
	changed := false
	if h.path == "" {
		h.path, changed = newPath(), true
	}
	if !h.authority.serves(now) {
		fresh, err := t.newAuthority(now)
		if err != nil {
			return h, false, err
		}
		h.authority, h.next, h.server, changed = fresh, nil, nil, true
	}
	if h.next == nil && (now.Add(2*t.Lifetime).After(h.authority.cert.NotAfter) || outlives(h.authority,
		authorityLifetimes*t.Lifetime)) {
		next, err := t.newAuthority(now)
		if err != nil {
			return h, false, err
		}
		h.next, changed = next, true
	}
	// Certificates have times in whole seconds.
	if h.next != nil && !now.Before(h.next.cert.NotBefore.Add(t.backdate()+t.Settle+time.Second)) {
		h.authority, h.next, h.server, changed = h.next, nil, nil, true
	}
	if !t.serves(now, h) {
		server, err := t.newServer(now, h.authority)
		if err != nil {
			return h, false, err
		}
		h.server, changed = server, true
	}
	trusted := t.trusted(now, h)
	changed = changed || len(trusted) != len(h.trusted)
	h.trusted = trusted
	return h, changed, nil
}

// serves reports whether the server certificate is usable for some time.
func (t Terms) serves(now time.Time, h held) bool {
	if !h.server.serves(now) || now.Add(t.Lifetime/3).After(h.server.cert.NotAfter) || outlives(h.server, t.Lifetime) {
		return false
	}
	names, addresses := t.names()
	return h.server.cert.CheckSignatureFrom(h.authority.cert) == nil && slices.Equal(h.server.cert.DNSNames, names) &&
		slices.EqualFunc(h.server.cert.IPAddresses, addresses, net.IP.Equal)
}

// outlives reports whether a certificate was made with a longer lifetime. It depends only on the certificate, not on a
// clock.
func outlives(p *pair, lifetime time.Duration) bool {
	// A tenth for backdating, and a second for rounding to whole seconds.
	return p.cert.NotAfter.Sub(p.cert.NotBefore) > lifetime+lifetime/10+time.Second
}

// names returns the names, and the addresses among them.
func (t Terms) names() (names []string, addresses []net.IP) { return split(t.Names...) }

func split(all ...string) (names []string, addresses []net.IP) {
	for _, name := range all {
		if ip := net.ParseIP(name); ip != nil {
			addresses = append(addresses, ip)
		} else {
			names = append(names, name)
		}
	}
	return names, addresses
}

// trusted returns the authority that signs, then the next one, then the earlier ones.
func (t Terms) trusted(now time.Time, h held) []*x509.Certificate {
	all := []*x509.Certificate{h.authority.cert}
	if h.next != nil {
		all = append(all, h.next.cert)
	}
	for _, cert := range h.trusted {
		if now.Before(cert.NotAfter) && !slices.ContainsFunc(all, cert.Equal) {
			all = append(all, cert)
		}
	}
	return all
}

// serves reports whether a certificate is usable. One that is not valid yet is: the local clock is behind that of the
// replica that made it, and if this one made another, the two would keep replacing each other's.
func (p *pair) serves(now time.Time) bool { return p != nil && now.Before(p.cert.NotAfter) }

// succeeded continues without the Secret: the last certificate is served until a new authority, which is published
// beside the old one at once, is trusted everywhere.
func (t Terms) succeeded(now time.Time, h held) (held, error) {
	next, err := t.newAuthority(now)
	h.next = next
	return h, err
}

// newPath is a path that cannot be guessed, of letters that the API server allows.
func newPath() string { return "/" + strings.ToLower(rand.Text()+rand.Text()) }

func (t Terms) newAuthority(now time.Time) (*pair, error) {
	return newPair(&x509.Certificate{
		Subject:               pkix.Name{CommonName: cmp.Or(t.Authority, "plimsoll-admission-authority")},
		NotBefore:             now.Add(-t.backdate()),
		NotAfter:              now.Add(authorityLifetimes * t.Lifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, nil)
}

func (t Terms) newServer(now time.Time, authority *pair) (*pair, error) {
	names, addresses := t.names()
	usage := x509.ExtKeyUsageServerAuth
	if t.IsClient {
		usage = x509.ExtKeyUsageClientAuth
	}
	return newPair(&x509.Certificate{
		Subject:     pkix.Name{CommonName: cmp.Or(t.Holder, "plimsoll-admission-controller")},
		DNSNames:    names,
		IPAddresses: addresses,
		NotBefore:   now.Add(-t.backdate()),
		NotAfter:    now.Add(t.Lifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, authority)
}

// newPair makes a key and a certificate, signed by the issuer or by itself.
func newPair(template *x509.Certificate, issuer *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	if template.SerialNumber, err = serialNumber(); err != nil {
		return nil, err
	}
	if issuer == nil {
		issuer = &pair{cert: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, key.Public(), issuer.key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate back: %w", err)
	}
	return &pair{cert: cert, key: key}, nil
}

// serialNumber has 127 bits, so that it is positive in 16 bytes.
func serialNumber() (*big.Int, error) {
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	return number, nil
}

// Package pki makes the certificates, keys and kubeconfigs by which the parts of a development cluster authenticate.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// A throw-away cluster does not live this long; certificates begin a little in the past for clocks that differ.
const (
	certificateLife = 365 * 24 * time.Hour
	certificateSkew = 5 * time.Minute
)

// Authority is a certificate authority made for one cluster.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	certPEM     []byte
}

// identity is a certificate with its key, both as PEM.
type identity struct {
	certPEM, keyPEM []byte
}

func newAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", name, err)
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{
		CommonName: name, NotBefore: time.Now().Add(-certificateSkew),
	}, key)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", name, err)
	}
	return &Authority{certificate: certificate, key: key, certPEM: encodePEM("CERTIFICATE", certificate.Raw)}, nil
}

// CertPEM is the authority's certificate: what clients trust.
func (a *Authority) CertPEM() []byte { return append([]byte(nil), a.certPEM...) }

// Pool has the authority's certificate alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// ServerCertificate issues a serving certificate for DNS names and IP addresses.
func (a *Authority) ServerCertificate(hosts ...string) (tls.Certificate, error) {
	id, err := a.server(hosts...)
	if err != nil {
		return tls.Certificate{}, err
	}
	certificate, err := tls.X509KeyPair(id.certPEM, id.keyPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("serving certificate: %w", err)
	}
	return certificate, nil
}

// Serving is a serving certificate as PEM, with an authority of its own.
type Serving struct {
	Authority, Certificate, Key []byte
}

// NewServing issues one for DNS names and IP addresses.
func NewServing(hosts ...string) (Serving, error) {
	authority, err := newAuthority(hosts[0])
	if err != nil {
		return Serving{}, err
	}
	id, err := authority.server(hosts...)
	return Serving{Authority: authority.certPEM, Certificate: id.certPEM, Key: id.keyPEM}, err
}

func (a *Authority) server(hosts ...string) (identity, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: hosts[0]})
	if err != nil {
		return identity{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(template)
}

// client issues a client certificate; Kubernetes reads the user from the common name, groups from the organization.
func (a *Authority) client(user string, groups ...string) (identity, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return identity{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (identity, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, fmt.Errorf("key of %s: %w", name, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return identity{}, fmt.Errorf("certificate of %s: %w", name, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return identity{}, fmt.Errorf("key of %s: %w", name, err)
	}
	return identity{certPEM: encodePEM("CERTIFICATE", der), keyPEM: keyPEM}, nil
}

func certificateTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		Subject: subject, SerialNumber: serial,
		NotBefore: now.Add(-certificateSkew), NotAfter: now.Add(certificateLife),
	}, nil
}

// serviceAccountKeys returns the private key that signs service account tokens and the public key that checks them.
func serviceAccountKeys() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("service account key: %w", err)
	}
	if private, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return nil, nil, fmt.Errorf("service account key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("service account key: %w", err)
	}
	return private, encodePEM("PUBLIC KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Files is a folder with the credentials of the parts.
type Files struct {
	dir   string
	ca    *Authority // the API server, its clients, kubelets and aggregated APIs
	proxy *Authority // vouches for the API server as front proxy of aggregated APIs, and for nothing else
}

// New makes both authorities and writes the files that kube-apiserver and kube-controller-manager read. The API
// server's certificate is valid for serviceIP too, the address of the Service kubernetes.
func New(dir, serviceIP string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of certificates: %w", err)
	}
	ca, err := newAuthority("plimsoll-devcluster-ca")
	if err != nil {
		return nil, err
	}
	proxy, err := newAuthority("plimsoll-devcluster-front-proxy-ca")
	if err != nil {
		return nil, err
	}
	p := &Files{dir: dir, ca: ca, proxy: proxy}
	serving, err := ca.server("127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local", serviceIP)
	if err != nil {
		return nil, err
	}
	proxyClient, err := proxy.client("front-proxy-client")
	if err != nil {
		return nil, err
	}
	kubeletClient, err := ca.client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return nil, err
	}
	private, public, err := serviceAccountKeys()
	if err != nil {
		return nil, err
	}
	err = p.write(map[string][]byte{
		"ca.crt": ca.certPEM, "front-proxy-ca.crt": proxy.certPEM,
		"apiserver.crt": serving.certPEM, "apiserver.key": serving.keyPEM,
		"front-proxy-client.crt": proxyClient.certPEM, "front-proxy-client.key": proxyClient.keyPEM,
		"apiserver-kubelet-client.crt": kubeletClient.certPEM, "apiserver-kubelet-client.key": kubeletClient.keyPEM,
		"service-account.key": private, "service-account.pub": public,
	})
	return p, err
}

// Path is that of a file in the folder.
func (p *Files) Path(name string) string { return filepath.Join(p.dir, name) }

// CA is the authority that signs the API server's and the kubelets' certificates and all client certificates.
func (p *Files) CA() *Authority { return p.ca }

func (p *Files) write(files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(p.Path(name), content, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// WriteServer issues a serving certificate into <name>.crt and <name>.key.
func (p *Files) WriteServer(name string, hosts ...string) error {
	id, err := p.ca.server(hosts...)
	if err != nil {
		return err
	}
	return p.write(map[string][]byte{name + ".crt": id.certPEM, name + ".key": id.keyPEM})
}

package sources

import (
	"strings"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// SecretKey is a key of a Secret in the object's namespace. The zero value is none.
type SecretKey struct {
	Name, Key string
}

// Credentials has the credentials for a server. The zero value has none.
type Credentials struct {
	// Token is a bearer token.
	Token SecretKey
	// Username and Password are of basic authentication.
	Username, Password SecretKey
}

// TLS configures the verification of a server's certificate, and the client certificate. The zero value trusts the
// system's certificate authorities.
type TLS struct {
	// CABundle and CA are trusted authorities, in PEM. At most one of them is set.
	CABundle string
	CA       SecretKey
	// Cert and Key are the client's, in PEM.
	Cert, Key SecretKey
	// ServerName is the name in the certificate; empty if it is that of the address.
	ServerName string
	// InsecureSkipVerify reports that any certificate is accepted.
	InsecureSkipVerify bool
}

// IsProof reports whether an accepted certificate proves the identity of the host to the owner of the Secret. The
// author of the object may choose the authorities and the name in the certificate; a certificate that the author can
// make proves nothing. Only authorities in the same Secret count: a user with the permission to create Secrets, but not
// to read this one, could create another with an authority of their own. The hostname is empty for pods, which have no
// names of their own.
func (t *TLS) IsProof(secret, hostname string) bool {
	isItsName := hostname == "" || t.ServerName == "" || strings.EqualFold(t.ServerName, hostname)
	isOwnersAuthority := t.CABundle == "" && (t.CA == SecretKey{} || t.CA.Name == secret)
	return isItsName && isOwnersAuthority && !t.InsecureSkipVerify
}

func credentialsOf(token *plimsollv1alpha1.Authorization, basic *plimsollv1alpha1.BasicAuth) Credentials {
	var c Credentials
	if token != nil {
		c.Token = SecretKey(token.Credentials)
	}
	if basic != nil {
		c.Username, c.Password = SecretKey(basic.Username), SecretKey(basic.Password)
	}
	return c
}

// TLSOf converts a field tlsConfig, which may be absent.
func TLSOf(config *plimsollv1alpha1.TLSConfig) TLS {
	if config == nil {
		return TLS{}
	}
	tls := TLS{
		CABundle: string(config.CABundle), ServerName: config.ServerName, InsecureSkipVerify: config.InsecureSkipVerify,
	}
	if config.CA != nil {
		tls.CA = SecretKey(config.CA.Secret)
	}
	if config.Cert != nil {
		tls.Cert = SecretKey(config.Cert.Secret)
	}
	if config.Key != nil {
		tls.Key = SecretKey(config.Key.Secret)
	}
	return tls
}

package sources

import (
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// SecretKey is a key of a Secret in the object's namespace. The zero value is none.
type SecretKey struct {
	Name, Key string
}

// Credentials are those that a server gets. The zero value is none.
type Credentials struct {
	// Token is a bearer token.
	Token SecretKey
	// Username and Password are of basic authentication.
	Username, Password SecretKey
}

// TLS is how a server's certificate is checked, and which certificate it gets. The zero value
// trusts the system's certificate authorities.
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

func tlsOf(config *plimsollv1alpha1.TLSConfig) TLS {
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
	if config.KeySecret != nil {
		tls.Key = SecretKey(*config.KeySecret)
	}
	return tls
}

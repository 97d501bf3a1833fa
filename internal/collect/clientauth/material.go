package clientauth

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

const (
	// maxText bounds tokens, user names and passwords. They are sent with every request, so that the Secret of one
	// namespace could cost any amount of CPU and memory. Most servers refuse headers of 8 to 64 KiB.
	maxText = 16 << 10
	// maxPEM bounds certificates and keys, which are kept for each server and each page of pods. The authorities of a
	// usual system have 200 to 250 KiB.
	maxPEM = 512 << 10
)

// value returns that of a Secret's key for the field of the object.
func (c *Client) value(ctx context.Context, field string, key sources.SecretKey, most int) ([]byte, error) {
	if c.lookup == nil {
		return nil, fmt.Errorf("%s: Secrets are not read", field)
	}
	value, err := c.lookup(ctx, c.target.Namespace, key, c.target.peer(key.Name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if len(value) > most {
		return nil, fmt.Errorf("%s: key %q of secret %s/%s has more than %d bytes", field, key.Key, c.target.Namespace,
			key.Name, most)
	}
	return value, nil
}

// text is a value without the line end that files have.
func (c *Client) text(ctx context.Context, field string, key sources.SecretKey) (string, error) {
	value, err := c.value(ctx, field, key, maxText)
	return strings.TrimRight(string(value), "\r\n"), err
}

func (c *Client) authorization(ctx context.Context) (string, error) {
	credentials := &c.target.Credentials
	if credentials.Token != (sources.SecretKey{}) {
		const field = "authorization.credentials"
		token, err := c.text(ctx, field, credentials.Token)
		if err != nil {
			return "", err
		}
		if !isToken(token) {
			return "", fmt.Errorf("%s: the value is empty, or has characters that a header cannot have", field)
		}
		return "Bearer " + token, nil
	}
	if credentials.Username == (sources.SecretKey{}) && credentials.Password == (sources.SecretKey{}) {
		return "", nil
	}
	username, err := c.text(ctx, "basicAuth.username", credentials.Username)
	if err != nil {
		return "", err
	}
	if strings.Contains(username, ":") {
		return "", errors.New("basicAuth.username: the value has a colon")
	}
	password, err := c.text(ctx, "basicAuth.password", credentials.Password)
	if err != nil {
		return "", err
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password)), nil
}

// isToken reports whether the value is visible ASCII. Any other character could end the header's line.
func isToken(value string) bool {
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return false
		}
	}
	return value != ""
}

// parts are the parts of a TLS configuration, in PEM.
type parts struct{ authorities, certificate, key []byte }

func (p *parts) equal(q *parts) bool {
	return bytes.Equal(p.authorities, q.authorities) && bytes.Equal(p.certificate, q.certificate) &&
		bytes.Equal(p.key, q.key)
}

func (c *Client) parts(ctx context.Context) (parts, error) {
	config := &c.target.TLS
	p := parts{authorities: []byte(config.CABundle)}
	var err error
	if config.CA != (sources.SecretKey{}) {
		if p.authorities, err = c.value(ctx, "tlsConfig.ca.secret", config.CA, maxPEM); err != nil {
			return p, err
		}
	}
	if config.Cert == (sources.SecretKey{}) && config.Key == (sources.SecretKey{}) {
		return p, nil
	}
	if p.certificate, err = c.value(ctx, "tlsConfig.cert.secret", config.Cert, maxPEM); err != nil {
		return p, err
	}
	p.key, err = c.value(ctx, "tlsConfig.key.secret", config.Key, maxPEM)
	return p, err
}

// configOf does not quote errors of parsers: they may have parts of the values.
func configOf(target *Target, p *parts) (*tls.Config, error) {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: target.serverName(),
		InsecureSkipVerify: target.TLS.InsecureSkipVerify, //nolint:gosec // the object says so
	}
	if len(p.authorities) > 0 || target.TLS.CA != (sources.SecretKey{}) {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(p.authorities) {
			field := "tlsConfig.caBundle"
			if target.TLS.CA != (sources.SecretKey{}) {
				field = "tlsConfig.ca.secret"
			}
			return nil, fmt.Errorf("%s: the value has no certificate in PEM", field)
		}
	}
	if len(p.certificate) > 0 || len(p.key) > 0 {
		pair, err := tls.X509KeyPair(p.certificate, p.key)
		if err != nil {
			return nil, errors.New(
				"tlsConfig.cert.secret, tlsConfig.key.secret: the values are no certificate and its key in PEM")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

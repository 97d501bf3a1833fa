package clientauth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// TestDescribeTLS: no text from the peer is quoted.
func TestDescribeTLS(t *testing.T) {
	certificate := &x509.Certificate{DNSNames: []string{"hush"}}
	for want, err := range map[string]error{
		"": io.EOF,
		"its certificate is not signed by a trusted authority (tlsConfig.ca, tlsConfig.caBundle)": x509.UnknownAuthorityError{
			Cert: certificate},
		"its certificate is not for prometheus (tlsConfig.serverName)": x509.HostnameError{
			Certificate: certificate, Host: "prometheus"},
		"its certificate has expired, or is not valid yet": x509.CertificateInvalidError{
			Cert: certificate, Reason: x509.Expired, Detail: "hush"},
		"its certificate is not valid":                     &tls.CertificateVerificationError{Err: errors.New("hush")},
		"it does not speak TLS":                            tls.RecordHeaderError{Msg: "hush"},
		"it ended the TLS handshake: tls: bad certificate": &net.OpError{Op: "remote error", Err: tls.AlertError(42)},
	} {
		got := DescribeTLS(fmt.Errorf("wrapped: %w", err))
		if text := fmt.Sprint(got); got == nil && want != "" || got != nil && text != want {
			t.Errorf("%v, want %q", got, want)
		} else if strings.Contains(text, "hush") {
			t.Errorf("it quotes the peer: %v", got)
		}
	}
}

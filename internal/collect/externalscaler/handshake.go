package externalscaler

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
)

// handshaker makes TLS connections with the current certificates.
type handshaker struct{ connection *connection }

var _ credentials.TransportCredentials = (*handshaker)(nil)

var (
	errNoServer  = errors.New("it is no server")
	errNotServed = errors.New("nothing came after the TLS handshake: it may want another certificate of the client")
)

// ClientHandshake implements credentials.TransportCredentials.
func (h *handshaker) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	material, err := h.connection.auth.Get(ctx)
	if err != nil {
		h.connection.setFailure(err)
		return nil, nil, err
	}
	if material.TLS.ServerName != "" {
		authority = material.TLS.ServerName
	}
	conn, info, err := credentials.NewTLS(material.TLS).ClientHandshake(ctx, authority, raw)
	if err != nil {
		h.connection.setFailure(describeHandshake(err))
		return nil, nil, err
	}
	h.connection.handshaken(material.TLS)
	return &tlsConn{Conn: conn, connection: h.connection}, info, nil
}

// tlsConn detects whether the server accepted the client's certificate: with TLS 1.3 that follows the handshake.
type tlsConn struct {
	net.Conn

	connection *connection
	isAccepted bool
}

// Read implements net.Conn.
func (t *tlsConn) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if t.isAccepted {
		return n, err
	}
	if n > 0 {
		t.isAccepted = true
		t.connection.setRejection(nil)
	} else if clientauth.IsAlert(err) {
		t.connection.setRejection(describeHandshake(err))
	}
	return n, err
}

// ServerHandshake implements credentials.TransportCredentials.
func (h *handshaker) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errNoServer
}

// Info implements credentials.TransportCredentials.
func (h *handshaker) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials.
func (h *handshaker) Clone() credentials.TransportCredentials { return h }

// OverrideServerName implements credentials.TransportCredentials.
func (h *handshaker) OverrideServerName(string) error { return nil }

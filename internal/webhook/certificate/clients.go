package certificate

import (
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
)

// Clients verifies clients: they must show a certificate of an authority in a file.
type Clients struct {
	file string
	pool atomic.Pointer[x509.CertPool]
}

// ReadClients reads the file.
func ReadClients(file string) (*Clients, error) {
	c := &Clients{file: file}
	if err := c.Refresh(); err != nil {
		return nil, err
	}
	return c, nil
}

// Refresh reads the file again. An unusable file changes nothing.
func (c *Clients) Refresh() error {
	content, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("authority of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return fmt.Errorf("authority of clients: %s has no certificate", c.file)
	}
	c.pool.Store(pool)
	return nil
}

// Pool returns the authorities that verify certificates of clients.
func (c *Clients) Pool() *x509.CertPool { return c.pool.Load() }

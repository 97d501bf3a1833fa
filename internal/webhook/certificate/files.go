package certificate

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Paths are files that another program writes, such as cert-manager.
type Paths struct{ Certificate, Key, Authority string }

// Files are certificates from files.
type Files struct {
	paths  Paths
	reload bool
	shown  atomic.Pointer[Shown]
}

// Read provides certificates from files; with reload they are read again at each Refresh.
func Read(paths Paths, reload bool) *Files { return &Files{paths: paths, reload: reload} }

// Shown returns the certificate to show; nil before the first Refresh.
func (f *Files) Shown() *Shown { return f.shown.Load() }

// Refresh reads the files. Truncated ones change nothing.
func (f *Files) Refresh(context.Context, time.Time) error {
	if f.shown.Load() != nil && !f.reload {
		return nil
	}
	certificate, err := tls.LoadX509KeyPair(f.paths.Certificate, f.paths.Key)
	if err != nil {
		return fmt.Errorf("server certificate: %w", err)
	}
	// An authority is needed only for registering; upstream runs without it too.
	authorities, err := os.ReadFile(f.paths.Authority)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("authority: %w", err)
	}
	if old := f.shown.Load(); len(authorities) == 0 && old != nil {
		authorities = old.Authorities
	}
	f.shown.Store(&Shown{Certificate: &certificate, Authorities: authorities})
	return nil
}

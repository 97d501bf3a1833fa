package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stamp records the inputs of the binaries, and their sizes and times after the build.
type stamp struct {
	// Key is a hash over the pinned modules, the flags and the Go release.
	Key   string                `json:"key"`
	Parts map[string]binaryMark `json:"parts"`
}

// binaryMark distinguishes a binary from one that was put in its place.
type binaryMark struct {
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

func newStamp(ctx context.Context, module string, flags []string) (*stamp, error) {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return nil, fmt.Errorf("pinned modules: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64")
	cmd.Dir, cmd.Env = module, environment(module)
	release, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	fmt.Fprintf(hash, "%s\n%s", release, strings.Join(flags, "\n"))
	return &stamp{Key: hex.EncodeToString(hash.Sum(nil))}, nil
}

// readStamp returns an empty stamp if there is none that can be read: everything is then built again.
func readStamp(path string) *stamp {
	s := &stamp{}
	if text, err := os.ReadFile(path); err == nil {
		if json.Unmarshal(text, s) != nil {
			s = &stamp{}
		}
	}
	if s.Parts == nil {
		s.Parts = map[string]binaryMark{}
	}
	return s
}

// covers reports whether a part was built from the same inputs and still exists.
func (s *stamp) covers(key, binDir, name string) bool {
	mark, known := s.Parts[name]
	if s.Key != key || !known {
		return false
	}
	now, err := markOf(filepath.Join(binDir, name))
	return err == nil && now == mark
}

func (s *stamp) record(key, binDir string, parts []part) error {
	if s.Key != key {
		s.Key, s.Parts = key, map[string]binaryMark{}
	}
	for _, p := range parts {
		mark, err := markOf(filepath.Join(binDir, p.name))
		if err != nil {
			return err
		}
		s.Parts[p.name] = mark
	}
	return nil
}

func (s *stamp) write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("stamp: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("stamp: %w", err)
	}
	return nil
}

func markOf(path string) (binaryMark, error) {
	info, err := os.Stat(path)
	if err != nil {
		return binaryMark{}, fmt.Errorf("binary: %w", err)
	}
	return binaryMark{Bytes: info.Size(), Modified: info.ModTime().UTC()}, nil
}

// lock locks a file; the system releases the lock however this process ends. While another process has it, lock waits
// and reports that once.
func lock(ctx context.Context, path string, out io.Writer) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if !told {
			fmt.Fprintln(out, "waiting for another build of the same parts")
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, ctx.Err()), file.Close())
		case <-ticker.C:
		}
	}
}

// setGroup puts a command into a process group of its own that ends with the command's context.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
}

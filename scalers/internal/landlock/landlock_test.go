package landlock

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// folderOf is set in a process of its own: what restricts it lasts until its end. With usual it is restricted to Paths.
const (
	folderOf = "PLIMSOLL_TEST_FOLDER"
	usual    = "usual"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderOf); folder != "" {
		run := restricted
		if folder == usual {
			run = usesPaths
		}
		if err := run(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// restricted is what the process does.
func restricted(folder string) error {
	// Threads that exist before the restriction have it too.
	var begun, ended sync.WaitGroup
	proceed := make(chan struct{})
	errs := make(chan error, 8)
	for range cap(errs) {
		begun.Add(1)
		ended.Go(func() {
			runtime.LockOSThread()
			begun.Done()
			<-proceed
			errs <- reads(folder)
		})
	}
	begun.Wait()
	if err := Restrict([]string{filepath.Join(folder, "allowed"), filepath.Join(folder, "missing"),
		filepath.Join(folder, "token", "below")}); err != nil {
		return err
	}
	close(proceed)
	ended.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	// A process that it starts, by any name of a file, is restricted too.
	other := exec.Command(filepath.Join(folder, "cat"), filepath.Join(folder, "token"))
	if output, err := other.CombinedOutput(); err == nil {
		return fmt.Errorf("another process reads %q", output)
	}
	return reads(folder)
}

func reads(folder string) error {
	if _, err := os.ReadFile(filepath.Join(folder, "allowed", "file")); err != nil {
		return err
	}
	for _, path := range []string{
		filepath.Join(folder, "token"), filepath.Join(folder, "allowed", "..", "token"),
		filepath.Join(folder, "allowed", "link"), "/proc/self/environ", fmt.Sprintf("/proc/%d/environ", os.Getppid()),
	} {
		if _, err := os.ReadFile(path); !os.IsPermission(err) {
			return fmt.Errorf("%s: %w, want no permission", path, err)
		}
	}
	return nil
}

func TestRestrict(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "allowed"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"token", "allowed/file"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("a"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../token", filepath.Join(folder, "allowed", "link")); err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), folderOf+"="+folder)
	if output, err := process.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

// Scalers find addresses, authorities, time zones and files that they write.
func TestRestrictToPaths(t *testing.T) {
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), folderOf+"="+usual, "TMPDIR="+t.TempDir())
	if output, err := process.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

func usesPaths(string) error {
	if err := Restrict(Paths()); err != nil {
		return err
	}
	if addresses, err := (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), "localhost"); err != nil {
		return fmt.Errorf("%v: %w", addresses, err)
	}
	if _, err := x509.SystemCertPool(); err != nil {
		return err
	}
	file, err := os.CreateTemp("", "key-*.pem")
	if err != nil {
		return err
	}
	if _, err := os.ReadFile(file.Name()); err != nil {
		return err
	}
	if _, err := os.ReadFile("/etc/passwd"); !os.IsPermission(err) {
		return fmt.Errorf("another file: %w", err)
	}
	return file.Close()
}

// What the operator's environment names may be read, with the folder in which it is replaced.
func TestPaths(t *testing.T) {
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/secrets/eks.amazonaws.com/serviceaccount/token")
	for _, name := range []string{"SSL_CERT_FILE", "AWS_CA_BUNDLE"} {
		t.Setenv(name, "")
	}
	t.Setenv("SSL_CERT_DIR", "/a:/b")
	got := strings.Join(Paths(), " ")
	if !strings.HasSuffix(got, " /var/run/secrets/eks.amazonaws.com/serviceaccount /a /b "+os.TempDir()) {
		t.Errorf("got %s", got)
	}
}

// A file that the operator's environment names must not open the folder of the token, or /proc, to the processes.
func TestCheck(t *testing.T) {
	parent := t.TempDir()
	account := filepath.Join(parent, "secrets", "account")
	for _, folder := range []string{account, filepath.Join(parent, "secrets", "gcp")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"to-account": account, "to-root": "/", "to-proc": "/proc/self"} {
		if err := os.Symlink(to, filepath.Join(parent, from)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SSL_CERT_FILE", "")
	for path, want := range map[string]string{
		"":                                     "",
		parent + "/secrets/gcp/key.json":       "",
		parent + "/secrets/account-2/key.json": "",
		"/key.json":                            "read /: that opens ",
		"/missing/../key.json":                 "read /: that opens ",
		"/proc/1/key.json":                     "that opens /proc ",
		parent + "/secrets/key.json":           "that opens " + account,
		parent + "/secrets/account/key.json":   "that opens " + account,
		parent + "/secrets/account/a/key.json": "that opens " + account,
		parent + "/to-account/key.json":        "that opens " + account,
		parent + "/to-root/key.json":           "that opens ",
		parent + "/to-proc/key.json":           "that opens /proc ",
	} {
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
		if err := Check(account); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", path, err, want)
		}
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("SSL_CERT_DIR", "/certificates:"+parent)
	if err := Check(account); err == nil {
		t.Error("a folder above it in SSL_CERT_DIR")
	}
}

func TestIsAbsent(t *testing.T) {
	for err, want := range map[error]bool{unix.EACCES: true, unix.ENOTDIR: true, unix.ENOENT: true, unix.EINVAL: false} {
		if got := isAbsent(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

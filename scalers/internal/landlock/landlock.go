// Package landlock keeps the process of a type of trigger from files that no scaler needs, as the token of
// plimsoll-scalers and /proc. It is the kernel that refuses, whatever a library does.
package landlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Paths returns the files and folders that libraries of scalers read: those of name resolution, of certificate
// authorities and of time zones, the folder of temporary files, and what the environment of the operator names.
func Paths() []string { return append(fixed(), os.TempDir()) }

// fixed returns the paths that are the same for all processes.
func fixed() []string {
	paths := []string{
		"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/etc/localtime",
		"/etc/ssl", "/etc/pki", "/usr/share/zoneinfo", "/usr/share/ca-certificates", "/usr/local/share/certs",
		"/custom/ca",
	}
	for _, name := range []string{
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_SHARED_CREDENTIALS_FILE",
		"AWS_CONFIG_FILE", "AWS_CA_BUNDLE", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_CERTIFICATE_PATH",
		"AZURE_ENVIRONMENT_FILEPATH", "GOOGLE_APPLICATION_CREDENTIALS", "VAULT_CACERT", "SSL_CERT_FILE",
	} {
		// A token that is replaced is another file in the folder.
		if path := os.Getenv(name); path != "" {
			paths = append(paths, filepath.Dir(path))
		}
	}
	return append(paths, filepath.SplitList(os.Getenv("SSL_CERT_DIR"))...)
}

// Check returns an error if the processes could read the files of a folder that is not for them, or of /proc, because
// the environment of the operator names a file above, beside or below them. It leaves out the folder of temporary
// files: each process has its own.
func Check(folders ...string) error {
	for _, path := range fixed() {
		allowed, err := resolved(path)
		if err != nil {
			return err
		}
		for _, folder := range append(folders, "/proc") {
			kept, err := resolved(folder)
			if err != nil {
				return err
			}
			if contains(allowed, kept) || contains(kept, allowed) {
				return fmt.Errorf("the environment lets processes read %s: that opens %s to them; "+
					"put the file that it names into a folder of its own", path, folder)
			}
		}
	}
	return nil
}

// resolved returns an absolute path without symbolic links, as far as the path exists.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target, nil
	}
	return path, nil
}

// contains reports whether a path is a folder or below it.
func contains(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}

// Restrict lets this process open for reading what is at or below the paths, and no other files, for good. A path that
// does not exist, or that the process cannot reach anyway, is left out. The error wraps errors.ErrUnsupported where the
// kernel or the container cannot do that.
func Restrict(paths []string) error {
	attributes := unix.LandlockRulesetAttr{Access_fs: unix.LANDLOCK_ACCESS_FS_READ_FILE}
	// The first version of Landlock has this field alone.
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)),
		unsafe.Sizeof(attributes.Access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w: %w", errors.ErrUnsupported, errno)
	}
	defer func() { _ = unix.Close(int(ruleset)) }()
	for _, path := range paths {
		if err := allow(ruleset, path); err != nil && !isAbsent(err) {
			return fmt.Errorf("landlock: %s: %w", path, err)
		}
	}
	// Both belong to a thread, and the process has several.
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w: %w", errors.ErrUnsupported, errno)
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w: %w", errors.ErrUnsupported, errno)
	}
	return nil
}

func isAbsent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR)
}

func allow(ruleset uintptr, path string) error {
	file, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(file) }()
	rule := unix.LandlockPathBeneathAttr{
		Allowed_access: unix.LANDLOCK_ACCESS_FS_READ_FILE,
		Parent_fd:      int32(file),
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

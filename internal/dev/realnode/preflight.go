package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Where Debian's containernetworking-plugins are.
const pluginDir = "/usr/lib/cni"

// Requirement is a program that must be on this machine.
type Requirement struct {
	// Program is a name or, if it is not one of those that a shell would find, an absolute path.
	Program string
	// Package is the Debian package that brings it.
	Package string
}

// Requirements are the requirements of a node.
func Requirements() []Requirement {
	return []Requirement{
		{"containerd", "containerd"},
		{"containerd-shim-runc-v2", "containerd"},
		{"ctr", "containerd"},
		{"runc", "runc"},
		{filepath.Join(pluginDir, "bridge"), "containernetworking-plugins"},
		{filepath.Join(pluginDir, "host-local"), "containernetworking-plugins"},
		{filepath.Join(pluginDir, "loopback"), "containernetworking-plugins"},
		{"ip", "iproute2"},
		{"umount", "mount"},
	}
}

// ErrMissing is returned if this machine cannot run a node in its current state.
var ErrMissing = errors.New("this machine lacks what a real node needs")

// Check names everything that is missing for a node and for what else is required, and how to get it.
func Check(more ...Requirement) error {
	return missing(slices.Concat(Requirements(), more), os.Geteuid(), Find)
}

func missing(required []Requirement, uid int, find func(string) (string, error)) error {
	var lines, packages []string
	if uid != 0 {
		lines = append(lines, "root: containers, network interfaces and cgroups are made; run it with sudo")
	}
	for _, r := range required {
		if _, err := find(r.Program); err == nil {
			continue
		}
		lines = append(lines, r.Program)
		if !slices.Contains(packages, r.Package) {
			packages = append(packages, r.Package)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	err := fmt.Errorf("%w:\n  %s", ErrMissing, strings.Join(lines, "\n  "))
	if len(packages) > 0 {
		err = fmt.Errorf("%w\nInstall with:\n  apt-get install --no-install-recommends %s", err, strings.Join(packages, " "))
	}
	return err
}

// Find returns the path of a program, also of one that only root's PATH leads to.
func Find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil || strings.Contains(program, "/") {
		return path, err
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", err
}

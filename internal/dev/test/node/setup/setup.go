// Package setup has the prerequisites of the tests on a real node: the programs, and the load that runs in their
// containers.
package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// LoadImage is the image of test/node/load.
const LoadImage = "plimsoll.local/load:1"

// Programs builds what is not up to date of the control plane and the node, and returns the folder.
func Programs(ctx context.Context) (bin string, err error) {
	built, err := build.Run(ctx, build.Config{
		BinDir: os.Getenv(devcluster.BinEnv), Out: os.Stderr, Parts: []string{
			"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", build.Kubelet, build.Pause,
		},
	})
	return built.BinDir, err
}

// ImportLoad builds the program that runs in the tests' containers, with the flags of this test, and gives it to the
// node.
func ImportLoad(ctx context.Context, node *realnode.Node) (err error) {
	dir, err := os.MkdirTemp("", "plimsoll-load-")
	if err != nil {
		return fmt.Errorf("build the load: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "load")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path,
		"github.com/plimsoll-dev/plimsoll/internal/dev/test/node/load")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the load: %w\n%s", err, out)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("build the load: %w", err)
	}
	packed, err := image.Assemble([]image.File{{Path: "/load", Content: program, Mode: 0o755}},
		v1.Config{Entrypoint: []string{"/load"}})
	if err != nil {
		return fmt.Errorf("build the load: %w", err)
	}
	return node.Import(ctx, LoadImage, packed)
}

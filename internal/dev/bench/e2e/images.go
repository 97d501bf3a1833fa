package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// The names of the images in the tests of this release: test/utils/image/manifest.go of Kubernetes.
const (
	agnhostImage  = "registry.k8s.io/e2e-test-images/agnhost:2.66.1"
	consumerImage = "registry.k8s.io/e2e-test-images/resource-consumer:1.14"
)

// stress is the program with which resource-consumer takes memory.
const stress = "stress"

// newAgnhost is Kubernetes' agnhost without what its image has beside the program: these tests use none of it.
func newAgnhost(binDir string) (v1.Image, error) {
	program, err := os.ReadFile(filepath.Join(binDir, build.Agnhost))
	if err != nil {
		return nil, fmt.Errorf("agnhost's image: %w", err)
	}
	const path = "/agnhost"
	return image.Assemble([]image.File{
		{Path: path, Content: program, Mode: 0o755},
		{Path: "/tmp", Mode: 0o1777, Folder: true},
	}, v1.Config{Entrypoint: []string{path}, Cmd: []string{"pause"}, WorkingDir: "/"})
}

// newConsumer is Kubernetes' resource-consumer, with this machine's stress, which is Debian's in its own image as well.
func newConsumer(ctx context.Context, binDir string) (v1.Image, error) {
	program, err := realnode.Find(stress)
	if err != nil {
		return nil, fmt.Errorf("resource-consumer's image: %w", err)
	}
	files, err := image.HostProgram(ctx, program)
	if err != nil {
		return nil, fmt.Errorf("resource-consumer's image: %w", err)
	}
	for name, path := range map[string]string{
		build.ResourceConsumer: "/consumer", build.ConsumeCPU: "/consume-cpu/consume-cpu",
	} {
		content, err := os.ReadFile(filepath.Join(binDir, name))
		if err != nil {
			return nil, fmt.Errorf("resource-consumer's image: %w", err)
		}
		files = append(files, image.File{Path: path, Content: content, Mode: 0o755})
	}
	files = append(files, image.File{Path: "/tmp", Mode: 0o1777, Folder: true})
	return image.Assemble(files, v1.Config{
		Entrypoint: []string{"/consumer"}, WorkingDir: "/", Env: []string{"PATH=" + filepath.Dir(program)},
	})
}

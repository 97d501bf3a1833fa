package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// imageOf are the images of the programs.
var imageOf = map[Subject]string{Plimsoll: image.DefaultTag, Upstream: "plimsoll.local/upstream-vpa:1"}

// The names of further images in the tests of the vertical autoscaler. All but the shell are agnhost, which is a
// sidecar that does nothing without arguments.
var agnhostNames = []string{
	"registry.k8s.io/e2e-test-images/agnhost:2.53", "registry.k8s.io/e2e-test-images/agnhost:2.40",
	"registry.k8s.io/pause:3.1",
}

const shellImage = "registry.k8s.io/e2e-test-images/busybox:1.37.0-2"

func (v *vertical) importImages(ctx context.Context, s *stage) error {
	shell, err := newShell(ctx)
	if err != nil {
		return err
	}
	agnhost, err := newAgnhost(v.binDir)
	if err != nil {
		return err
	}
	images := map[string]v1.Image{shellImage: shell}
	for _, name := range agnhostNames {
		images[name] = agnhost
	}
	if slices.Contains(v.subjects, Upstream) {
		if images[imageOf[Upstream]], err = newUpstream(v.binDir); err != nil {
			return err
		}
	}
	return s.importAll(ctx, images)
}

// newUpstream has the programs of upstream's three images.
func newUpstream(binDir string) (v1.Image, error) {
	var files []image.File
	for program, name := range map[string]string{
		recommender: build.UpstreamRecommender, updater: build.UpstreamUpdater, admission: build.UpstreamAdmission,
	} {
		content, err := os.ReadFile(filepath.Join(binDir, name))
		if err != nil {
			return nil, fmt.Errorf("upstream's image: %w", err)
		}
		files = append(files, image.File{Path: "/" + program, Content: content, Mode: 0o755})
	}
	return image.Assemble(files, v1.Config{WorkingDir: "/"})
}

// newShell has the parts of busybox that the tests use: a shell and two programs, which are this machine's here.
func newShell(ctx context.Context) (v1.Image, error) {
	files, path := map[string]image.File{}, ""
	for _, name := range []string{"sh", "yes", "sleep"} {
		program, err := realnode.Find(name)
		if err != nil {
			return nil, fmt.Errorf("the shell's image: %w", err)
		}
		of, err := image.HostProgram(ctx, program)
		if err != nil {
			return nil, fmt.Errorf("the shell's image: %w", err)
		}
		for _, file := range of {
			files[file.Path] = file
		}
		if name == "sh" {
			of[0].Path = "/bin/sh"
			files[of[0].Path] = of[0]
		}
		path += ":" + filepath.Dir(program)
	}
	return image.Assemble(slices.Collect(maps.Values(files)), v1.Config{
		WorkingDir: "/", Env: []string{"PATH=" + path[1:]},
	})
}

package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// versions is the folder with other versions of Kubernetes: a module for each, v1.32 for instance.
const versions = "tools/versions"

// isVersioned are the parts that are built of other versions of Kubernetes. The other parts stay as they are: they are
// not what is tested.
var isVersioned = map[string]bool{"kube-apiserver": true, "kube-controller-manager": true, "kube-scheduler": true}

// minorOf is the second number of a version: 32 of v1.32.13 and of 1.32.
func minorOf(version string) string {
	numbers := strings.SplitN(version, ".", 3)
	if len(numbers) < 2 {
		return ""
	}
	return numbers[1]
}

// Versions are the minor versions of Kubernetes that tools/versions has, the oldest first.
func Versions(root string) ([]string, error) {
	folders, err := filepath.Glob(filepath.Join(root, versions, "v*", "go.mod"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range folders {
		all = append(all, strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "v"))
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // 1.9 before 1.10
	})
	return all, nil
}

var requiredKubernetes = regexp.MustCompile(`(?m)^(?:require)?\s+k8s\.io/kubernetes (v[0-9.]+)\s*(?://.*)?$`)

// PinnedVersion is the release of a minor version that tools/versions has, such as "v1.32.13" of "1.32".
func PinnedVersion(root, minor string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, versions, "v"+minor, "go.mod"))
	if errors.Is(err, os.ErrNotExist) {
		all, _ := Versions(root)
		return "", fmt.Errorf("%s has no Kubernetes %s; it has %s", versions, minor, strings.Join(all, ", "))
	}
	if err != nil {
		return "", fmt.Errorf("pinned version of Kubernetes: %w", err)
	}
	match := requiredKubernetes.FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%s/v%s/go.mod does not require k8s.io/kubernetes", versions, minor)
	}
	return string(match[1]), nil
}

// runVersion brings the parts of another version of Kubernetes up to date in a folder of their own, and links the parts
// that are the same for all versions into it.
func (b *builder) runVersion(ctx context.Context, wanted []part) (Result, error) {
	release, err := PinnedVersion(b.config.Root, b.config.Kubernetes)
	if err != nil {
		return Result{}, err
	}
	var own, shared []part
	for _, p := range wanted {
		if isVersioned[p.name] {
			p.module = path.Join(versions, "v"+b.config.Kubernetes)
			own = append(own, p)
		} else {
			shared = append(shared, p)
		}
	}
	if _, err := b.run(ctx, shared); err != nil {
		return b.result, err
	}
	b.binDir, b.kubernetes = filepath.Join(b.binDir, "v"+b.config.Kubernetes), release
	if err := os.MkdirAll(b.binDir, 0o755); err != nil {
		return b.result, fmt.Errorf("folder of binaries: %w", err)
	}
	for _, p := range shared {
		if err := link(b.binDir, p.name); err != nil {
			return b.result, err
		}
	}
	return b.run(ctx, own)
}

// link makes a link to the binary of that name in the folder above, unless it is there already.
func link(dir, name string) error {
	err := os.Symlink(filepath.Join("..", name), filepath.Join(dir, name))
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("link to %s: %w", name, err)
	}
	return nil
}

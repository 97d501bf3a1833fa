package images

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
)

// MemoryServer is the name of a web server's image that needs memory for each connection.
const MemoryServer = "plimsoll.local/memoryserver:1"

// MiBPerConnection is the memory that each connection takes.
const MiBPerConnection = 64

// MemoryServerReady is the path for probes, which take no memory.
const MemoryServerReady = "/ready"

// NewMemoryServer is its program, from a folder of binaries, alone. It serves where nginx does.
func NewMemoryServer(binDir string) (v1.Image, error) {
	program, err := os.ReadFile(filepath.Join(binDir, build.MemoryServer))
	if err != nil {
		return nil, fmt.Errorf("memory server's image: %w", err)
	}
	const path = "/memoryserver"
	return image.Assemble([]image.File{{Path: path, Content: program, Mode: 0o755}}, v1.Config{
		Entrypoint: []string{path, ":80", strconv.Itoa(MiBPerConnection)},
	})
}

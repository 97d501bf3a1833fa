package build

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// CompileTests compiles packages and their tests, links nothing, and shows the progress: `go test` is silent for
// minutes if it compiles much. With the same flags it finds the results in the cache.
func CompileTests(ctx context.Context, config Config, race bool, packages []string) error {
	if config.Out == nil {
		config.Out = io.Discard
	}
	root, err := Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, development)
	environment := environment(dir)
	arguments := append([]string{"list", "-test", "-deps"},
		slices.DeleteFunc(Flags(), func(flag string) bool { return strings.HasPrefix(flag, "-ldflags=") })...)
	if race {
		arguments, environment = append(arguments, "-race"), append(environment, "CGO_ENABLED=1")
	}
	command := func(shown *progress, more ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "go", slices.Concat(arguments, more, packages)...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, environment, shown
		setGroup(cmd)
		return cmd
	}
	download := newDownload(config)
	listed, err := command(download, "-f={{.ImportPath}}").Output()
	download.finish()
	if err != nil {
		return fmt.Errorf("list the tests: %w\n%s", err, download.errors())
	}
	compiling := newProgress(config, strings.Count(string(listed), "\n"))
	defer compiling.finish()
	// With -export the go command compiles what it lists, and with -v it names each package that it compiles.
	if err := command(compiling, "-export", "-v", "-f=").Run(); err != nil {
		return fmt.Errorf("compile the tests: %w\n%s", err, compiling.errors())
	}
	return nil
}

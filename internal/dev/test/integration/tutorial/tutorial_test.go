package tutorial

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

const (
	// startTimeout is for the control plane; what is to be built is built before.
	startTimeout = 3 * time.Minute
	// stepTimeout is for the commands of a block.
	stepTimeout = 4 * time.Minute
)

// TestTutorial runs each block of commands of docs/tutorial.md as it stands there, and compares what the page shows.
func TestTutorial(t *testing.T) {
	t.Parallel()
	if _, err := devclustertest.Bin(t.Context()); err != nil {
		t.Fatal(err)
	}
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	steps := readPage(t, filepath.Join(root, "docs", "tutorial.md"))
	if len(steps) < 5 {
		t.Fatalf("the page has %d blocks of commands", len(steps))
	}
	r := &reader{t: t, root: root, folder: t.TempDir()}
	// The reader's folder is the repository, but what the commands write stays out of it.
	if err := os.Symlink(filepath.Join(root, "docs"), filepath.Join(r.folder, "docs")); err != nil {
		t.Fatal(err)
	}
	r.start(steps[0])
	for _, s := range steps[1:] {
		r.run(s)
	}
}

// reader follows the instructions on the page.
type reader struct {
	t            *testing.T
	root, folder string
	// env is the environment of the second terminal.
	env []string
}

// start runs the first block, which ends with the test, and takes the environment that it prints over.
func (r *reader) start(s step) {
	r.t.Helper()
	// It ends by a signal, as by Ctrl-C.
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", s.commands)
	cmd.Dir, cmd.Env = r.root, append(os.Environ(), "MAKEFLAGS=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var progress strings.Builder
	cmd.Stderr = &progress
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	group := -cmd.Process.Pid
	r.t.Cleanup(func() {
		r.keepLogs()
		_ = syscall.Kill(group, syscall.SIGINT)
		_ = cmd.Wait() // make fails when it is interrupted
		if dir := r.clusterDir(); dir != "" {
			if _, err := os.Stat(dir); err == nil {
				r.t.Errorf("the cluster left %s behind", dir)
			}
		}
	})
	tooLate := time.AfterFunc(startTimeout, func() { _ = syscall.Kill(group, syscall.SIGINT) })
	defer tooLate.Stop()
	r.env = os.Environ()
	var printed strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if setting, isSetting := strings.CutPrefix(lines.Text(), "  export "); isSetting {
			r.env = append(r.env, os.ExpandEnv(setting))
		}
		if strings.HasPrefix(lines.Text(), "Ctrl-C ") {
			r.compareSettings(s, printed.String())
			return
		}
	}
	r.t.Fatalf("%s did not start a cluster:\n%s%s", s.commands, printed.String(), progress.String())
}

// compareSettings compares the names of the variables: their values are those of the machine.
func (r *reader) compareSettings(s step, printed string) {
	r.t.Helper()
	for line := range strings.Lines(s.output) {
		name, _, _ := strings.Cut(line, "=")
		if !strings.Contains(printed, name+"=") {
			r.t.Errorf("%s did not print %q:\n%s", s.commands, name, printed)
		}
	}
}

// run runs a block in the second terminal.
func (r *reader) run(s step) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), stepTimeout)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", s.commands)
	cmd.Dir, cmd.Env = r.folder, r.env
	printed, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("docs/tutorial.md, line %d: %s: %v\n%s", s.line, s.commands, err, printed)
	}
	if err := s.differs(string(printed)); err != nil {
		r.t.Errorf("docs/tutorial.md, line %d: %v\n\n%s printed:\n%s", s.line, err, s.commands, printed)
	}
	first, _, _ := strings.Cut(s.commands, "\n")
	r.t.Logf("%6.1f s  %s", time.Since(began).Seconds(), first)
}

// clusterDir is the folder of the cluster; empty before there is one.
func (r *reader) clusterDir() string {
	for _, setting := range r.env {
		if path, isIt := strings.CutPrefix(setting, "KUBECONFIG="); isIt {
			return filepath.Dir(path)
		}
	}
	return ""
}

// keepLogs copies the logs of the cluster's parts if the test has failed.
func (r *reader) keepLogs() {
	if !r.t.Failed() || r.clusterDir() == "" {
		return
	}
	dir, err := devclustertest.Evidence(r.t)
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, time.Now().Format("150405")), os.DirFS(filepath.Join(r.clusterDir(), "logs")))
	}
	r.t.Logf("the control plane's logs are in %s (%v)", dir, err)
}

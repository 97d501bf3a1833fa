package devcluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

// orphanEnv makes this test program a program that starts a cluster and waits to be killed; its value is the folder of
// the parts' binaries.
const orphanEnv = "PLIMSOLL_TEST_ORPHAN"

// runOrphan prints the data folder of its cluster and then waits for longer than any test.
func runOrphan() {
	c, err := devcluster.Start(context.Background(), devcluster.Config{BinDir: os.Getenv(orphanEnv), MetricsServer: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Dir())
	<-time.After(10 * time.Minute)
}

// A parent killed with -9 can clean up nothing itself; its parts end and its folder goes all the same.
func TestKilledParentLeavesNothing(t *testing.T) {
	shared.Cluster(t) // so that two live side by side
	folder, err := devclustertest.Bin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), orphanEnv+"="+folder)
	var stderr bytes.Buffer
	parent.Stderr = &stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	dir := strings.TrimSpace(line)
	before := processesOf(t, dir)
	const parts = 6 // etcd, apiserver, controller manager, scheduler, kwok, metrics-server
	if len(before) < parts {
		t.Fatalf("found only %d processes of the cluster: %v", len(before), before)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Its end by a signal is expected.
	if err := parent.Wait(); err == nil {
		t.Fatal("the parent ended by itself")
	}
	eventually(t, 15*time.Second, func(context.Context) error {
		var left []string
		for _, p := range before {
			if p.lives() {
				left = append(left, p.command)
			}
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			left = append(left, dir)
		}
		if len(left) > 0 {
			return fmt.Errorf("still there: %v", left)
		}
		return nil
	})
	if after := processesOf(t, dir); len(after) > 0 {
		t.Errorf("processes left: %v", after)
	}
}

// osProcess is a line of the process table; started distinguishes it from a later process with the same ID.
type osProcess struct {
	id               int
	command, started string
}

// processesOf finds the processes whose command line names a folder: the cluster's parts and its watcher.
func processesOf(t *testing.T, dir string) []osProcess {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("no process table: %v", err)
	}
	var found []osProcess
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(dir)) {
			continue // gone since, or another's
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		command, _, _ := strings.Cut(string(text), "\x00")
		found = append(found, osProcess{id: id, command: command, started: startedAt(id)})
	}
	return found
}

// lives is false for a zombie: it has ended, and its parent has not waited for it yet.
func (p osProcess) lives() bool {
	state := processState(p.id)
	return state != "" && state != "Z" && startedAt(p.id) == p.started
}

// statFields are the fields of /proc/<id>/stat after the command's name, which may contain anything.
func statFields(id int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

func processState(id int) string {
	if fields := statFields(id); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

func startedAt(id int) string {
	const startTime = 19 // field 22 of proc(5), counted from field 3
	if fields := statFields(id); len(fields) > startTime {
		return fields[startTime]
	}
	return ""
}

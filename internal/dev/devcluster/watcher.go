package devcluster

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// watcherScript outlives this process. It reads the process groups to end from its standard input, whose other end
// only this process has: the pipe closes however this process ends, kill -9 included. Then the groups are killed and
// the folder removed, again and again until it is gone, since a dying process may still write a file. It is a shell
// script because a shell costs 1 MB where a second copy of this program would cost 50.
const watcherScript = `
trap '' INT TERM HUP QUIT
groups=''
while read -r verb id; do
	case "$verb" in
	add) groups="$groups $id" ;;
	drop)
		rest=''
		for g in $groups; do [ "$g" = "$id" ] || rest="$rest $g"; done
		groups=$rest ;;
	esac
done
for g in $groups; do kill -KILL "-$g" 2>/dev/null; done
tries=0
while [ -e "$1" ] && [ "$tries" -lt 100 ]; do
	rm -rf -- "$1" 2>/dev/null
	[ -e "$1" ] && sleep 0.1
	tries=$((tries + 1))
done
`

// gateScript runs a part once its process group is known to the watcher: if this process dies before writing the line,
// the read fails and the part never runs. exec keeps the process ID.
const gateScript = `read -r go && exec "$@" </dev/null`

// watcher is this process's end of the watcher's pipe.
type watcher struct {
	pipe io.WriteCloser
	cmd  *exec.Cmd
}

// startWatcher starts the watcher of a folder, in a session of its own so that Ctrl-C on the terminal misses it.
func startWatcher(dir string) (*watcher, error) {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", watcherScript, "plimsoll-devcluster-watcher", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watcher's pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the watcher: %w", err)
	}
	return &watcher{pipe: pipe, cmd: cmd}, nil
}

// add and drop keep the watcher's list of process groups equal to the running parts. A group is dropped when its
// leader has ended, so that a process ID that is used again is never killed.
func (w *watcher) add(group int) error  { return w.tell("add", group) }
func (w *watcher) drop(group int) error { return w.tell("drop", group) }

func (w *watcher) tell(verb string, group int) error {
	if _, err := fmt.Fprintf(w.pipe, "%s %d\n", verb, group); err != nil {
		return fmt.Errorf("tell the watcher: %w", err)
	}
	return nil
}

// close makes the watcher end its processes, and waits for it.
func (w *watcher) close() error {
	if err := w.pipe.Close(); err != nil {
		return fmt.Errorf("close the watcher's pipe: %w", err)
	}
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("watcher: %w", err)
	}
	return nil
}

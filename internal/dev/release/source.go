package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Source is the source of a release.
type Source struct {
	// Commit is the commit of Git, 40 hexadecimal digits; "-dirty" follows where files differ from it.
	Commit string
	// Time is that of everything in the release: the commit's, or SOURCE_DATE_EPOCH.
	Time time.Time
}

// errDirty is the error of a tree with changes.
var errDirty = errors.New("files differ from the last commit, or are not in it: commit or remove them, or set " +
	"DIRTY=1 for a release that nobody else can build")

// readSource reads the state of the repository from Git. The version must not be a tag of another commit.
func readSource(ctx context.Context, root, version string, allowDirty bool) (Source, error) {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args[0], err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return Source{}, err
	}
	changes, err := git("status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return Source{}, err
	}
	seconds, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return Source{}, err
	}
	if changes != "" && !allowDirty {
		return Source{}, fmt.Errorf("%w:\n%s", errDirty, changes)
	}
	if tagged, err := git("rev-parse", "--quiet", "--verify", "refs/tags/"+version+"^{commit}"); err == nil &&
		tagged != commit {
		return Source{}, fmt.Errorf("%s is the tag of the commit %s, and this is %s", version, tagged, commit)
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || at <= 0 {
		return Source{}, fmt.Errorf("the time %q is no number of seconds since 1970", seconds)
	}
	if changes != "" {
		commit += "-dirty"
	}
	return Source{Commit: commit, Time: time.Unix(at, 0).UTC()}, nil
}

package advise

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// noons have recorded two weeks, of one object alone, in which the load jumps at noon.
type noons struct{ now time.Time }

// History implements recordings.
func (n noons) History(_ context.Context, object observe.Key) (*loadhistory.History, loadreport.Source, error) {
	if object != observe.HPA("default", "web") {
		return nil, loadreport.Source{}, errors.New("there is no Lease of that controller")
	}
	h := &loadhistory.History{}
	for at := n.now.Add(-14 * 24 * time.Hour); at.Before(n.now); at = at.Add(time.Minute) {
		load := 2.0
		if at.UTC().Hour() == 12 {
			load = 12
		}
		h.AddMinute(at, loadhistory.Point{Load: load, PerPodMilli: 350, Limit: loadhistory.NotRecorded})
	}
	return h, loadreport.Source{}, nil
}

// TestRecordedLoads: schedules are proposed from what the controller recorded; what it did not record is said once.
func TestRecordedLoads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	other := strings.ReplaceAll(advised, "name: web", "name: other")
	if err := os.WriteFile(file, []byte(advised+"---"+other), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := manifests.Read([]string{file}, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	o := adviseOptions{recorded: noons{time.Now().Truncate(time.Minute)}, progress: io.Discard}
	o.history.location, o.history.startUp = time.UTC, 3*time.Minute
	if err := o.readRecorded(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	const want = "1 of 2 autoscalers, which only Plimsoll's controller has: it could not be read"
	if len(o.unknown) != 1 || !strings.Contains(o.unknown[0], want) {
		t.Errorf("%q", o.unknown)
	}
	all := rules.All()
	found := rules.Run(c, all[slices.IndexFunc(all, func(r *rules.Rule) bool { return r.NeedsLoad }):]).Findings
	if len(found) != 1 || found[0].Object.Name != "web" || !strings.Contains(found[0].Snippet, "jump-1") ||
		!strings.Contains(found[0].Why, "recorded by Plimsoll, read from the controller") {
		t.Errorf("%+v", found)
	}
}

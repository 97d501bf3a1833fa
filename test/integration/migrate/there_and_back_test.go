package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// times is how often an HPA is migrated there and back under each load.
const times = 10

// Under steady load nothing is scaled at all, there and back.
func TestSteadyLoad(t *testing.T) {
	t.Parallel()
	for i := range times {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, 35)
			before := w.HPA("web")
			changes := w.WatchChanges("web")
			table, progress := w.apply()
			w.isMigrated("web")
			for _, want := range []string{"NAMESPACE", "LARGEST DIFFERENCE", w.Name} {
				if !strings.Contains(table, want) {
					t.Errorf("%q is missing in the table:\n%s", want, table)
				}
			}
			if files := w.files(); len(files) != 1 || !strings.Contains(progress, files[0][len(w.backups)+1:]) ||
				!strings.Contains(w.read(files[0]), "kind: HorizontalPodAutoscaler") {
				t.Errorf("files %v\n%s", files, progress)
			}
			w.awaitDecided("web", 4)
			w.HoldsReplicas(patience, harness.Deployment, "web", 4)
			w.back()
			w.isBack(before)
			w.HoldsReplicas(patience, harness.Deployment, "web", 4)
			if all := changes.All(); len(all) > 0 {
				t.Errorf("scaled: %v", all)
			}
		})
	}
}

// rise makes the queue longer, step by step, and remembers when.
type rise struct {
	mu     sync.Mutex
	levels []level
}

type level struct {
	from time.Time
	jobs int
}

func (r *rise) start(w *workload, jobs, most int, pause time.Duration) (wait func()) {
	r.levels = []level{{time.Now(), jobs}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for jobs++; jobs <= most && w.t.Context().Err() == nil; jobs++ {
			select {
			case <-time.After(pause):
			case <-w.t.Context().Done():
				return
			}
			r.mu.Lock()
			r.levels = append(r.levels, level{time.Now(), jobs})
			r.mu.Unlock()
			w.SetQueue("jobs", jobs)
		}
	}()
	return func() { <-done }
}

// asked is the most that the metric can have asked for until then.
func (r *rise) asked(at time.Time) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := r.levels[0].jobs
	for _, l := range r.levels {
		if !l.from.After(at) {
			jobs = l.jobs
		}
	}
	return int32((jobs + 9) / 10)
}

// Under rising load the count never falls and never exceeds what the metric asks for, and each change is by the one
// whose turn it is: the HPA's controller, then Plimsoll, then the HPA's again.
func TestRisingLoad(t *testing.T) {
	t.Parallel()
	for i := range times {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, 5)
			before := w.HPA("web")
			changes, counts := w.WatchChanges("web"), w.WatchCounts("web")
			var load rise
			wait := load.start(w, 5, 95, 500*time.Millisecond)
			w.AwaitReplicas(harness.Deployment, "web", 2)
			w.apply()
			w.isMigrated("web")
			w.Eventually("a change by Plimsoll", func(context.Context) error {
				if len(changes.By(plimsoll)) == 0 {
					return fmt.Errorf("%v", changes.All())
				}
				return nil
			})
			w.back()
			w.isBack(before)
			wait()
			w.AwaitReplicas(harness.Deployment, "web", 10)
			w.HoldsReplicas(patience/2, harness.Deployment, "web", 10)
			checkRise(t, &load, changes.All(), counts)
		})
	}
}

func checkRise(t *testing.T, load *rise, changes []harness.Change, counts *harness.Record) {
	t.Helper()
	var turns []string
	for _, c := range changes {
		if c.To <= c.From {
			t.Errorf("the count falls from %d to %d", c.From, c.To)
		}
		if len(turns) == 0 || turns[len(turns)-1] != c.By {
			turns = append(turns, c.By)
		}
	}
	if want := []string{upstream, plimsoll, upstream}; !slices.Equal(turns, want) && !slices.Equal(turns, want[:2]) {
		t.Errorf("scaled by %v: %v", turns, changes)
	}
	all, err := counts.Counts()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if asked := load.asked(c.At); c.Replicas > asked {
			t.Errorf("%d replicas, but %d were asked for at most: %s", c.Replicas, asked, counts)
		}
	}
	t.Logf("%v", changes)
}

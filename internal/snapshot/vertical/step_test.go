package vertical

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

const verticalFile = "testdata/web.yaml"

const (
	vpaItem = `
- apiVersion: autoscaling.k8s.io/v1
  kind: VerticalPodAutoscaler
  metadata: {name: web, namespace: shop}
  spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}`
	verticalItem = `
- apiVersion: plimsoll.dev/v1alpha1
  kind: VerticalSnapshot
  metadata: {name: web, namespace: shop}
  time: "2026-11-20T12:00:00.123456789Z"`
	verticalDocument = "apiVersion: v1\nkind: List\nitems:" + vpaItem + verticalItem
)

func newReader(r io.Reader) *snapshot.ReaderOf[*Step] {
	return snapshot.NewReaderOf[*Step](r, Format())
}

func TestReadVerticalErrors(t *testing.T) {
	for name, c := range map[string]struct{ document, want string }{
		"no object": {"apiVersion: v1\nkind: List\nitems:" + verticalItem,
			"items: no autoscaling.k8s.io/v1 VerticalPodAutoscaler"},
		"no snapshot": {"apiVersion: v1\nkind: List\nitems:" + vpaItem,
			"items: no plimsoll.dev/v1alpha1 VerticalSnapshot"},
		"two objects": {verticalDocument + vpaItem,
			"item 3 (VerticalPodAutoscaler shop/web): second of its kind, a step has one"},
		"two snapshots": {verticalDocument + verticalItem,
			"item 3 (VerticalSnapshot shop/web): second of its kind, a step has one"},
		"a scale": {verticalDocument + "\n- {apiVersion: autoscaling/v1, kind: Scale}",
			`item 3 (Scale): kind Scale of "autoscaling/v1" is not part of a snapshot`},
		"a list": {verticalDocument + "\n- {apiVersion: v1, kind: List}", "item 3 (List): a list within the list"},
		"another's": {strings.Replace(verticalDocument, "name: web, namespace: shop}\n  time",
			"name: api, namespace: shop}\n  time", 1),
			"VerticalSnapshot: metadata: shop/api is not the VerticalPodAutoscaler's name shop/web"},
		"no name": {strings.Replace(verticalDocument, "metadata: {name: web, namespace: shop}\n  spec",
			"metadata: {}\n  spec", 1), "VerticalPodAutoscaler: metadata.name: Required value"},
		"no time": {strings.Split(verticalDocument, "\n  time:")[0], "VerticalSnapshot: time: Required value"},
		"unknown field": {verticalDocument + "\n  history: {}",
			`item 2 (VerticalSnapshot shop/web): unknown field "history"`},
		"unknown flag": {verticalDocument + "\n  flags: {sync-period: 1s}",
			`VerticalSnapshot: flags: unknown flag "sync-period"`},
		"no number": {verticalDocument + "\n  flags: {min-replicas: two}",
			`VerticalSnapshot: flags.min-replicas: "two" cannot be read`},
		"negative": {verticalDocument + "\n  flags: {eviction-tolerance: \"-1\"}",
			`VerticalSnapshot: flags.eviction-tolerance: "-1", must be a number and not negative`},
		"not a number": {verticalDocument + "\n  flags: {eviction-tolerance: NaN}",
			`VerticalSnapshot: flags.eviction-tolerance: "NaN", must be a number and not negative`},
		"half-life": {verticalDocument + "\n  flags: {cpu-histogram-decay-half-life: 0s}",
			"VerticalSnapshot: flags: the half-life and the confidence interval of cpu must be greater than 0"},
		"percentile": {verticalDocument + "\n  flags: {target-cpu-percentile: \"90\"}",
			"VerticalSnapshot: flags: percentiles of cpu {90 0.5 0.95}, must be from 0 to 1"},
		"count": {verticalDocument + "\n  flags: {memory-aggregation-interval-count: \"0\"}", "VerticalSnapshot: " +
			"flags: memory-aggregation-interval and its count must be greater than 0, oom-bump-up-ratio at least 1"},
		"replicas": {verticalDocument + "\n  target: {replicas: -1}",
			"VerticalSnapshot: target.replicas: -1, must not be negative"},
		"no interval": {verticalDocument + "\n  updater: {time: \"2026-11-20T12:00:00Z\", state: {version: 1}}",
			"VerticalSnapshot: updater.interval: 0s, must be greater than 0"},
		"no pass": {verticalDocument + "\n  updater: {interval: 1m, state: {version: 1}}",
			"VerticalSnapshot: updater.time: Required value"},
		"another version": {verticalDocument + "\n  updater: {time: \"2026-11-20T12:00:00Z\", interval: 1m, state: " +
			"{version: 9}}", "VerticalSnapshot: updater.state.version: 9, this program knows 1"},
	} {
		_, err := newReader(strings.NewReader(c.document)).Next()
		if err == nil || err.Error() != "document 1: "+c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func verticalOf(t *testing.T, text string) *Step {
	t.Helper()
	step, err := newReader(strings.NewReader(text)).Next()
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// A written step is read back unchanged, with times that have fractions of a second, and all of the updater's history.
func TestEncode(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)
	step := verticalOf(t, verticalDocument)
	step.Checkpoints = []*vpav1.VerticalPodAutoscalerCheckpoint{{
		ObjectMeta: metav1.ObjectMeta{Name: "web-app", Namespace: "shop"},
		Status: vpav1.VerticalPodAutoscalerCheckpointStatus{
			FirstSampleStart: metav1.NewTime(at), TotalSamplesCount: 7,
			CPUHistogram: vpav1.HistogramCheckpoint{
				TotalWeight: 0.1 + 0.2, BucketWeights: map[int]uint32{3: 10000}, ReferenceTimestamp: metav1.NewTime(at),
			},
		},
	}}
	started := metav1.NewTime(at)
	step.Pods = []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "shop", UID: "1", CreationTimestamp: started},
		Status: corev1.PodStatus{StartTime: &started, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app",
			Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(
				"100m")}},
		}}},
	}}
	bucket := disruption.NewBucket(0.1, 3)
	_, _, bucket = bucket.Reserve(at, time.Time{})
	state := update.State{Version: update.StateVersion}.Clone()
	state.Resize.RecordInfeasible(&vertical.Pod{UID: "1"},
		[]vertical.Recommendation{{Container: "app", Target: vertical.Amounts{}.With(vertical.CPU, 5)}}, vertical.Amounts{})
	state.Resize.Failed["1"] = resize.Failure{Attempts: 2, Until: at}
	state.Circuit.RecordEviction(at, nil, []vertical.Recommendation{{Container: "app", Target: vertical.Of(5, 6)}})
	state.Circuit.RecordResize(at, &vertical.Pod{UID: "1"})
	settings := DefaultSettings()
	settings.KnowsGates, settings.Gates.InPlace, settings.Updater.Tolerance, settings.Recommender.NoOverrides = true, true,
		0.1+0.2, true
	settings.Recommender.Policy.MaxAllowed = vertical.Amounts{}.With(vertical.Memory, 1<<40)
	step.Snapshot.Flags = settings.Flags()
	step.Snapshot.Updater = &Updater{
		Time: at, Interval: metav1.Duration{Duration: time.Minute}, State: state, Evictions: bucket, LeaseStale: true,
		Pods:             []PodVerdict{{Name: "web-1", UID: "1", Action: "evict", Reason: "OutsideRange"}},
		Requested:        map[string]vertical.Amounts{"node": vertical.Amounts{}.With(vertical.CPU, 1500)},
		KubeletRefusals:  map[string]KubeletRefusals{"node": {true, true, true, true, true}},
		Used:             map[string]map[string]vertical.Amounts{"1": {"app": vertical.Amounts{}.With(vertical.Memory, 70<<20)}},
		EvictionsStopped: "NodesNotReady", EvictionsLeft: ptr.To(3), FailedCreate: true,
	}
	copied, ok := step.Snapshot.DeepCopyObject().(*Snapshot)
	if !ok || !cmp.Equal(step.Snapshot, copied, exported) {
		t.Errorf("the copy is another: %s", cmp.Diff(step.Snapshot, copied, exported))
	}
	var stream bytes.Buffer
	if err := Encode(&stream, step); err != nil {
		t.Fatal(err)
	}
	got := verticalOf(t, stream.String())
	if diff := cmp.Diff(step, got, exported, cmpopts.IgnoreTypes(metav1.TypeMeta{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	read, err := got.Settings()
	if err != nil || !cmp.Equal(settings, read, exported, cmpopts.EquateEmpty()) {
		t.Errorf("%v, settings (-written +read):\n%s", err, cmp.Diff(settings, read, exported, cmpopts.EquateEmpty()))
	}
}

// exported compares amounts and buckets by their contents; times by when they are.
var exported = cmp.Options{
	cmp.AllowUnexported(vertical.Amounts{}, disruption.Bucket{}, Settings{}),
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
	cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) }),
}

// Each flag that is written can be read, and absent ones have their defaults; unknown gates are not written.
func TestVerticalFlags(t *testing.T) {
	step := verticalOf(t, verticalDocument)
	settings, err := step.Settings()
	if err != nil || settings.KnowsGates {
		t.Fatalf("%v, gates known: %t", err, settings.KnowsGates)
	}
	flags := settings.Flags()
	if len(flags) != len(settings.values())-3 {
		t.Errorf("%d of %d flags are written", len(flags), len(settings.values()))
	}
	step.Snapshot.Flags = flags
	again, err := step.Settings()
	if err != nil || !cmp.Equal(settings, again, exported) {
		t.Errorf("%v: %s", err, cmp.Diff(settings, again, exported))
	}
}

// An old form stays readable.
func TestVerticalFileStaysReadable(t *testing.T) {
	text, err := os.ReadFile(verticalFile)
	if err != nil {
		t.Fatal(err)
	}
	step := verticalOf(t, string(text))
	if step.Snapshot.Updater == nil || len(step.Checkpoints) == 0 || len(step.Pods) != 3 || len(step.Budgets) != 1 ||
		step.Pods[0].UID != types.UID("web-1") {
		t.Errorf("%+v", step)
	}
}

func FuzzVerticalReader(f *testing.F) {
	f.Add(verticalDocument)
	f.Add(verticalDocument +
		"\n  flags: {min-replicas: \"2\"}\n  updater: {time: \"2026-11-20T12:00:00Z\", interval: 1m, state: {version: 1}}")
	if text, err := os.ReadFile(verticalFile); err == nil {
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, stream string) {
		reader := newReader(strings.NewReader(stream))
		for range 100 {
			step, err := reader.Next()
			if err != nil {
				return
			}
			if step.Object == nil || step.Snapshot == nil {
				t.Fatalf("an incomplete step: %+v", step)
			}
			var again bytes.Buffer
			if err := Encode(&again, step); err != nil {
				continue // a Step that cannot be written need not be readable
			}
			if _, err := newReader(&again).Next(); err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, again.String())
			}
		}
	})
}

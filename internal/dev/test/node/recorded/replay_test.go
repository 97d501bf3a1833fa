package recorded

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/meter"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

const (
	samplesFile   = "testdata/samples.csv"
	snapshotsFile = "testdata/snapshots.yaml.gz"
	decisionsFile = "testdata/decisions.csv"
	// period is --kubelet-scrape-interval.
	period = time.Second
)

var update = flag.Bool("update", false, "write to testdata what is decided now; TestRecord: all of what it records")

// containerName names a container of the namespace.
type containerName struct{ pod, container string }

// sample is a sample of a container that was new to Plimsoll.
type sample struct {
	containerName
	// arrived is when the kubelet's response was passed on to Plimsoll, at when the kubelet took the sample.
	arrived, at time.Time
	cpuSeconds  float64
	memoryBytes float64
}

// run is a recorded run.
type run struct {
	samples   []sample
	snapshots []*snapshothorizontal.Step
}

// TestReplay decides again what was decided on a real node, from the kubelet's samples alone. Where a rule has changed
// on purpose, -update writes what is decided now.
func TestReplay(t *testing.T) {
	r, err := readRun()
	if err != nil {
		t.Fatal(err)
	}
	got := r.replay(t)
	if *update {
		if err := os.WriteFile(decisionsFile, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(decisionsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("decided (-recorded +played)\n%s", diff)
	}
}

// replay plays the samples as internal/simulate/loop does, makes of them the observation of each decision, and decides.
// Policy, state, pods and scale are those of its snapshot. The result must equal a decision on the snapshot's own
// observation, which Plimsoll made: the use of each pod in millicores, its time, and all of the decision. It returns a
// line for each.
//
// The time of a response is when it was passed on. A decision in the same millisecond may have been made without it:
// where that has happened, the run is of no use, and must be recorded again.
func (r *run) replay(t *testing.T) (lines []byte) {
	t.Helper()
	k := &kubelet{histories: map[containerName]*meter.History{}, epoch: r.samples[0].arrived}
	next, rescaled, apart := 0, 0, 0
	lines = append(lines, "time,current,averageMilli,desired\n"...)
	for _, step := range r.snapshots {
		for ; next < len(r.samples) && !r.samples[next].arrived.After(step.Snapshot.Time); next++ {
			k.read(&r.samples[next])
		}
		played, decision := k.decide(t, step)
		if decision.Rescale {
			rescaled++
		}
		if len(played.Earlier) > 0 {
			apart++
		}
		lines = fmt.Appendf(lines, "%s,%d,%d,%d\n", decision.At.Format(time.RFC3339Nano), decision.Current,
			decision.Metrics[0].Milli, decision.Desired)
	}
	t.Logf("%d samples, %d decisions: %d changed the count, %d on samples that were far apart", len(r.samples),
		len(r.snapshots), rescaled, apart)
	if rescaled < 4 || apart < 10 {
		t.Error("the run shows too little")
	}
	return lines
}

// kubelet has the samples of a node until now. It implements podload.Reader for the pods of a decision.
type kubelet struct {
	histories map[containerName]*meter.History
	// names are the containers in the order of their first samples.
	names []containerName
	epoch time.Time
	// now and pods are those of the present decision.
	now  time.Time
	pods []*observe.Pod
}

var _ podload.Reader = (*kubelet)(nil)

func (k *kubelet) read(s *sample) {
	h := k.histories[s.containerName]
	if h == nil {
		h = &meter.History{}
		k.histories[s.containerName], k.names = h, append(k.names, s.containerName)
	}
	h.Read(k.epoch, s.arrived.Sub(k.epoch), meter.Reading{
		At: s.at.Sub(k.epoch), CPUSeconds: s.cpuSeconds, MemoryBytes: s.memoryBytes,
	})
}

// decide decides on the current samples, and compares the decision with the snapshot.
func (k *kubelet) decide(t *testing.T, step *snapshothorizontal.Step) (played metric.Reading, d horizontal.Decision) {
	t.Helper()
	live, _, err := explainhorizontal.Evaluate(step, horizontal.State{}, divergence.Default)
	if err != nil {
		t.Fatal(err)
	}
	played = k.reading(step, &live)
	observation := live.Observation
	observation.Readings = []metric.Reading{played}
	if diff := cmp.Diff(live.Observation.Readings, observation.Readings, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: observed (-live +played)\n%s", step.Snapshot.Time, diff)
	}
	d, _ = horizontal.Decide(step.Snapshot.Time, &live.Policy, step.StateBefore(horizontal.State{}, divergence.Default),
		&observation)
	if diff := cmp.Diff(live.Decision, d, cmpopts.IgnoreUnexported(horizontal.Decision{}), cmpopts.EquateEmpty(),
		cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("%s: decided (-live +played)\n%s", step.Snapshot.Time, diff)
	}
	return played, d
}

// reading returns the reading of the samples at a decision.
func (k *kubelet) reading(step *snapshothorizontal.Step, live *explainhorizontal.Result) metric.Reading {
	k.now, k.pods = step.Snapshot.Time, observe.PodsOf(step.Pods)
	view := podload.View{Period: period}
	if err := view.Look(k.now, len(k.pods), k); err != nil {
		return metric.Reading{Error: err.Error()}
	}
	reading := observehorizontal.NewAnswers(&live.Policy, k.pods).Measured(0, &view)
	reading.Asked = live.Observation.Readings[0].Asked
	return reading
}

// Pod implements podload.Reader.
func (k *kubelet) Pod(i int) (pod *metric.Pod, node string) { return &k.pods[i].Pod, k.pods[i].Node() }

// Agent implements podload.Reader.
func (k *kubelet) Agent(_ int, dst []podload.Container) (containers []podload.Container, answers bool) {
	return dst, false
}

// Kubelet implements podload.Reader.
func (k *kubelet) Kubelet(i int, dst []podload.Container) []podload.Container {
	for _, name := range k.names {
		if name.pod == k.pods[i].Name {
			dst = append(dst, k.histories[name].Container(name.container, k.now.Sub(k.epoch), podload.MaxSampleAge(period)))
		}
	}
	return dst
}

// Health implements podload.Reader.
func (k *kubelet) Health(string) podload.Health { return podload.Health{Since: k.epoch} }

func readRun() (*run, error) {
	r := &run{}
	file, err := os.Open(samplesFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 || !slices.Equal(rows[0], head) {
		return nil, fmt.Errorf("%s has no samples, or other columns than %s", samplesFile, head)
	}
	for _, row := range rows[1:] {
		s, err := sampleOf(row)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", row, err)
		}
		r.samples = append(r.samples, s)
	}
	r.snapshots, err = readSnapshots()
	return r, err
}

func readSnapshots() ([]*snapshothorizontal.Step, error) {
	packed, err := os.Open(snapshotsFile)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	var steps []*snapshothorizontal.Step
	for reader := snapshothorizontal.NewReader(text); ; {
		step, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return steps, nil
		case err != nil:
			return nil, err
		}
		steps = append(steps, step)
	}
}

// head is the first line of the samples.
var head = []string{"arrived", "pod", "container", "at", "cpuSeconds", "memoryBytes"}

func sampleOf(row []string) (s sample, err error) {
	s.pod, s.container = row[1], row[2]
	var errs [4]error
	s.arrived, errs[0] = time.Parse(time.RFC3339Nano, row[0])
	s.at, errs[1] = time.Parse(time.RFC3339Nano, row[3])
	s.cpuSeconds, errs[2] = strconv.ParseFloat(row[4], 64)
	s.memoryBytes, errs[3] = strconv.ParseFloat(row[5], 64)
	return s, errors.Join(errs[:]...)
}

//go:build keda

package keda

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// begin runs Plimsoll until the test ends, which leaves HPAs to upstream's loop.
func (s *scaled) begin(flags ...string) {
	s.t.Helper()
	flags = append([]string{"--horizontal-pod-autoscalers=ignore", "--components=horizontal"}, flags...)
	if err := program.Start(s.t.Context(), flags...); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { program.Stop(context.WithoutCancel(s.t.Context())) })
}

// rising raises the wanted replicas by one every three seconds, and has the maximum so far.
type rising struct {
	kinds []string
	steps []time.Time
}

// rise continues until the context ends.
func (r *rising) rise(ctx context.Context, s *scaled) {
	for ctx.Err() == nil && len(r.steps) < 19 {
		r.steps = append(r.steps, time.Now())
		for _, kind := range r.kinds {
			// More than the tolerance, also of many replicas.
			load.set(s.queue(kind), perReplica*float64(len(r.steps)+1))
		}
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
	}
}

// migrateUnderLoad migrates all of the kinds while the load of some rises. The counts follow, never fall, and never
// exceed what is wanted; who acts changes once.
func (s *scaled) migrateUnderLoad(kinds, under []string, args ...string) {
	s.t.Helper()
	ctx, end := context.WithCancel(s.t.Context())
	r, ended := &rising{kinds: under}, make(chan struct{})
	counts := map[string]*harness.Record{}
	for _, kind := range kinds {
		counts[kind] = s.WatchCounts(kind)
	}
	go func() {
		defer close(ended)
		r.rise(ctx, s)
	}()
	out, stderr, err := s.migrate(append(append(args, kinds...), "--apply", "--yes", "--accept-differences", "--observe=6s",
		"--timeout=12s")...)
	end()
	<-ended
	s.t.Logf("migrate:\n%s%s", stderr, out)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, kind := range under {
		s.AwaitReplicas(harness.Deployment, kind, int64(len(r.steps)+1))
		all, err := counts[kind].Counts()
		if err != nil {
			s.t.Fatal(err)
		}
		for i, c := range all {
			most := int32(1)
			for _, at := range r.steps {
				if at.Before(c.At) {
					most++
				}
			}
			if i > 0 && c.Replicas < all[i-1].Replicas || c.Replicas > most {
				s.t.Errorf("%s: %d replicas, %d wanted at most: %v", kind, c.Replicas, most, counts[kind])
			}
		}
	}
	for _, kind := range kinds {
		s.changesHands(kind, upstream, plimsoll)
		s.isMigrated(kind)
	}
}

// changesHands checks that the one has scaled, then the other, and that Plimsoll's log explains each of its own.
func (s *scaled) changesHands(kind, first, second string) {
	s.t.Helper()
	all := s.changes[kind].All()
	s.t.Logf("%s: %v", kind, all)
	lines, err := s.LogLinesOf(plimsoll, s.Name+"/"+kind)
	if err != nil {
		s.t.Fatal(err)
	}
	by := first
	for _, c := range all {
		if c.By == second {
			by = second
		}
		isOwn := by == plimsoll && c.By == nobody
		if c.By != by && !isOwn {
			s.t.Errorf("%s: %v, want %s and then %s alone", kind, all, first, second)
		}
		if (c.By == plimsoll || isOwn) && !isExplained(lines, c) {
			s.t.Errorf("%s: the log does not explain %v: %v", kind, c, lines)
		}
	}
}

func isExplained(lines []map[string]string, c harness.Change) bool {
	for _, line := range lines {
		if line["msg"] == "scaled" && line["current"] == fmt.Sprint(c.From) && line["desired"] == fmt.Sprint(c.To) &&
			line["reason"] != "" {
			return true
		}
	}
	return false
}

// isMigrated checks that KEDA has stopped and the WorkloadAutoscaler acts.
func (s *scaled) isMigrated(kind string) {
	s.t.Helper()
	object, err := s.client.Get(s.t.Context(), kind, metav1.GetOptions{})
	if err != nil || object.GetAnnotations()["autoscaling.keda.sh/paused"] != "true" {
		s.t.Errorf("%s is not paused: %v", kind, err)
	}
	_, err = s.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Get(s.t.Context(), hpaOf(kind), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		s.t.Errorf("the HPA of %s: %v", kind, err)
	}
	w, err := s.WLAs.Get(s.t.Context(), kind, metav1.GetOptions{})
	if err != nil || w.Spec.Mode != plimsollv1alpha1.ModeActive || w.Annotations["plimsoll.dev/migrating"] != "" {
		s.t.Errorf("the WorkloadAutoscaler of %s: %+v, %v", kind, w, err)
	}
}

// follows has a count wanted and waits for it. Explain has it, and the metric.
func (s *scaled) follows(kind, metric string, n int) {
	s.t.Helper()
	s.want(kind, n)
	s.AwaitReplicas(harness.Deployment, kind, int64(n))
	s.Eventually("an explanation of "+kind, func(context.Context) error {
		text := s.explain(kind)
		for _, part := range []string{metric, fmt.Sprintf("%d desired replicas", n)} {
			if !strings.Contains(text, part) {
				return fmt.Errorf("%s has no %q", text, part)
			}
		}
		return nil
	})
}

// back restores all.
func (s *scaled) back(kinds ...string) {
	s.t.Helper()
	_, stderr, err := s.migrate(append(kinds, "--back", "--apply", "--yes")...)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, stderr)
	}
	for _, kind := range kinds {
		object, err := s.client.Get(s.t.Context(), kind, metav1.GetOptions{})
		if err != nil || object.GetAnnotations()["autoscaling.keda.sh/paused"] != "" {
			s.t.Errorf("%s is not resumed: %v", kind, err)
		}
		if _, err := s.WLAs.Get(s.t.Context(), kind, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			s.t.Errorf("the WorkloadAutoscaler of %s is there: %v", kind, err)
		}
	}
}

// Three ScaledObjects are migrated under load and back. KEDA serves the metrics of paused ScaledObjects, also after a
// restart, but it no longer listens to scalers that push.
func TestMigrateUnderLoad(t *testing.T) {
	kinds := []string{byCron, byPrometheus, byPush}
	s := newScaled(t, 1, kinds...)
	s.begin()
	s.want(byCron, 4)
	s.awaitHPA(byCron, 4)
	s.Eventually("KEDA's stream", func(context.Context) error {
		if n := load.open(s.queue(byPush)); n != 1 {
			return fmt.Errorf("%d streams", n)
		}
		return nil
	})
	s.migrateUnderLoad(kinds, []string{byPrometheus, byPush})
	s.AwaitReplicas(harness.Deployment, byCron, 4)

	pausedMetrics := func() {
		t.Helper()
		for _, kind := range []string{byPrometheus, byPush} {
			s.follows(kind, "s0-", 6)
			s.awaitServed(kind, "59")
			s.follows(kind, "s0-", 2)
			s.awaitServed(kind, "19")
		}
		if n := load.open(s.queue(byPush)); n != 0 {
			t.Errorf("KEDA has %d streams of the paused ScaledObject", n)
		}
	}
	pausedMetrics()
	running.operator.Stop(t.Context())
	if err := running.startOperator(t.Context()); err != nil {
		t.Fatal(err)
	}
	pausedMetrics()
	for _, kind := range kinds {
		s.changesHands(kind, upstream, plimsoll)
	}

	before := map[string]int{}
	for _, kind := range kinds {
		before[kind] = len(s.changes[kind].All())
	}
	s.back(kinds...)
	for _, kind := range kinds {
		s.want(kind, 7)
		s.AwaitReplicas(harness.Deployment, kind, 7)
		for _, c := range s.changes[kind].All()[before[kind]:] {
			if c.By != upstream {
				t.Errorf("%s: %v after going back", kind, c)
			}
		}
	}
}

package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

const namespace = "shop"

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// stage has the checkpoints of an API server, and the autoscalers of this recommender.
type stage struct {
	*Store
	// mu guards the following.
	mu          sync.Mutex
	checkpoints map[string]*vpav1.VerticalPodAutoscalerCheckpoint
	writes      map[string]int
	unreadable  int
	refused     string
	autoscalers map[types.NamespacedName]Autoscaler
}

func newStage() *stage {
	policy := recommend.DefaultPolicy()
	s := &stage{
		checkpoints: map[string]*vpav1.VerticalPodAutoscalerCheckpoint{}, writes: map[string]int{},
		autoscalers: map[types.NamespacedName]Autoscaler{},
	}
	s.Store = NewStore(Config{
		Client: s, Autoscalers: s, VPAs: cache.NewStore(cache.MetaNamespaceKeyFunc), Policy: &policy, Log: logr.Discard(),
		IsIgnored: func(name string) bool { return name == "ignored" }, CollectInterval: 10 * time.Minute,
		FlushTimeout: time.Minute, Workers: 3,
	})
	return s
}

func (s *stage) EachCheckpoint(_ context.Context, _ string, visit func(*vpav1.VerticalPodAutoscalerCheckpoint)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreadable > 0 {
		s.unreadable--
		return errors.New("unreadable")
	}
	for _, name := range slices.Sorted(maps.Keys(s.checkpoints)) {
		visit(s.checkpoints[name].DeepCopy())
	}
	return nil
}

func (s *stage) WriteCheckpoint(_ context.Context, c *vpav1.VerticalPodAutoscalerCheckpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Name == s.refused {
		return errors.New("refused")
	}
	s.checkpoints[c.Name] = c
	s.writes[c.Name]++
	return nil
}

func (s *stage) DeleteCheckpoint(_ context.Context, _, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.checkpoints, name)
	return nil
}

func (s *stage) Autoscaler(name types.NamespacedName) (a Autoscaler, exists bool) {
	a, exists = s.autoscalers[name]
	return a, exists
}

func (s *stage) All() iter.Seq[Autoscaler] { return maps.Values(s.autoscalers) }

// autoscaler creates an object whose containers have a changed history.
func (s *stage) autoscaler(t *testing.T, name string, containers ...string) types.NamespacedName {
	t.Helper()
	of := types.NamespacedName{Namespace: namespace, Name: name}
	state := &recommend.State{}
	for _, container := range containers {
		c := recommend.Container{Name: container}
		if !c.Usage.AddCPU(&s.Policy.Usage, usage.Sample{Pod: "p", At: noon.Add(-time.Minute), Amount: 100}, noon) {
			t.Fatal("no sample was added")
		}
		c.Usage.Changed = true
		state.Containers = append(state.Containers, c)
	}
	s.autoscalers[of] = Autoscaler{Name: of, State: state}
	object := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := s.VPAs.Add(object); err != nil {
		t.Fatal(err)
	}
	s.Restore(noon, of)
	return of
}

// save saves what is due for all objects, and returns how many checkpoints were written.
func (s *stage) save(ctx context.Context, now time.Time, change ...func(*Update)) (written int) {
	var updates []Update
	for _, name := range slices.SortedFunc(maps.Keys(s.autoscalers), func(a, b types.NamespacedName) int {
		return len(a.Name) - len(b.Name)
	}) {
		updates = append(updates, Update{Autoscaler: s.autoscalers[name], Policy: s.Policy})
	}
	for _, f := range change {
		f(&updates[0])
	}
	s.Save(ctx, now, updates)
	for i := range updates {
		written += len(updates[i].Saved)
	}
	return written
}

// TestSave: the first checkpoint is written at once, later ones after 15 minutes, or after three where few are due, and
// at once after a container ran out of memory.
func TestSave(t *testing.T) {
	s := newStage()
	web := s.autoscaler(t, "web", "app", "proxy")
	s.refused = "web-proxy"
	if got := s.save(t.Context(), noon); got != 1 || s.writes["web-app"] != 1 {
		t.Fatalf("%d first checkpoints are written, and one is refused: %v", got, s.writes)
	}
	if due := s.due[web]["app"]; due.Before(noon) || !due.Before(noon.Add(savePeriod)) {
		t.Errorf("the second is due at %v", due)
	}
	s.due[web]["app"] = noon.Add(savePeriod)
	outOfMemory := func(u *Update) { u.HadOOM = true }
	for _, step := range []struct {
		reason string
		after  time.Duration
		change []func(*Update)
		want   int
	}{
		{"it is early", 3*time.Minute - 1, nil, 1},
		{"three minutes later", 3 * time.Minute, nil, 2},
		{"the container ran out of memory", 4 * time.Minute, []func(*Update){outOfMemory}, 3},
		{"it is early again", 7*time.Minute - 1, nil, 3},
		{"three minutes after the last one", 7 * time.Minute, nil, 4},
	} {
		s.save(t.Context(), noon.Add(step.after), step.change...)
		if got := s.writes["web-app"]; got != step.want {
			t.Errorf("%s: written %d times, want %d", step.reason, got, step.want)
		}
	}
	s.refused = ""
	if s.save(t.Context(), noon.Add(8*time.Minute)); s.writes["web-proxy"] != 1 {
		t.Errorf("the one that was refused is written %d times", s.writes["web-proxy"])
	}
}

// TestSaveWithoutTarget: with keep-history the history goes on while the target cannot be looked up.
func TestSaveWithoutTarget(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		s := newStage()
		web := s.autoscaler(t, "web", "app")
		want := 2
		if !keeps {
			want = 0
			s.Policy.Usage.Divergences &^= divergence.KeepHistory
		}
		s.autoscalers[web] = Autoscaler{Name: web, State: s.autoscalers[web].State, LookupFailed: true}
		s.save(t.Context(), noon)
		s.Flush(t.Context())
		if got := s.writes["web-app"]; got != want {
			t.Errorf("keeps the history: %t: written %d times, want %d", keeps, got, want)
		}
	}
}

// TestFlush: every changed checkpoint is written at the end of the process, due or not.
func TestFlush(t *testing.T) {
	s := newStage()
	web := s.autoscaler(t, "web", "app", "proxy")
	s.save(t.Context(), noon)
	s.autoscalers[web].State.Containers[1].Usage.Changed = false
	s.Flush(t.Context())
	if s.writes["web-app"] != 2 || s.writes["web-proxy"] != 1 {
		t.Errorf("writes: %v", s.writes)
	}
}

// TestSaveSpreads: ten checkpoints are written in a pass where fewer are due, so that a killed process of a small
// cluster loses minutes, and first ones in parts.
func TestSaveSpreads(t *testing.T) {
	s := newStage()
	const containers = maxFirst + 10
	for i := range containers {
		s.autoscaler(t, fmt.Sprintf("web%d", i), "app")
	}
	for pass, want := range []int{maxFirst, containers} {
		if s.save(t.Context(), noon.Add(time.Duration(pass)*time.Second)); len(s.writes) != want {
			t.Errorf("after pass %d there are %d checkpoints, want %d", pass, len(s.writes), want)
		}
	}
	small := newStage()
	for i := range 100 {
		small.autoscaler(t, fmt.Sprintf("web%d", i), "app")
	}
	small.save(t.Context(), noon)
	for minute := range 20 {
		written := small.save(t.Context(), noon.Add(time.Duration(minute+1)*time.Minute))
		if minute > 0 && written < fewPerPass {
			t.Errorf("after %d minutes %d are written, want ten at least", minute, written)
		}
	}
	for name, writes := range small.writes {
		if writes < 2 {
			t.Errorf("%s is written %d times in 20 minutes", name, writes)
		}
	}
}

// TestCheckpointName: two pairs of object and container that upstream writes to one checkpoint have two names.
func TestCheckpointName(t *testing.T) {
	s := newStage()
	s.autoscaler(t, "web", "api-server")
	s.autoscaler(t, "web-api", "other", "server")
	s.save(t.Context(), noon)
	owners := map[string]string{}
	for name, c := range s.checkpoints {
		owners[name] = c.Spec.VPAObjectName + "/" + c.Spec.ContainerName
	}
	if len(owners) != 3 || owners["web-api-server"] != "web/api-server" || owners["web-api-other"] != "web-api/other" {
		t.Errorf("checkpoints: %v", owners)
	}
}

// TestCollect: checkpoints of deleted objects are deleted, and of containers without a history. Those of other
// recommenders' objects, of ignored namespaces and of objects whose target was not found stay.
func TestCollect(t *testing.T) {
	s := newStage()
	s.autoscaler(t, "web", "app")
	unknown := s.autoscaler(t, "unknown")
	s.autoscalers[unknown] = Autoscaler{Name: unknown, State: &recommend.State{}, LookupFailed: true}
	delete(s.autoscalers, s.autoscaler(t, "theirs"))
	stored := func(in, owner, container string) {
		s.checkpoints[owner+"-"+container] = &vpav1.VerticalPodAutoscalerCheckpoint{
			ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: owner + "-" + container},
			Spec:       vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: owner, ContainerName: container},
		}
	}
	for _, one := range [][3]string{
		{namespace, "web", "app"}, {namespace, "web", "removed"}, {namespace, "theirs", "app"}, {namespace, "gone", "app"},
		{namespace, "unknown", "app"}, {"ignored", "away", "app"},
	} {
		stored(one[0], one[1], one[2])
	}
	all := []string{"away-app", "gone-app", "theirs-app", "unknown-app", "web-app", "web-removed"}
	needed := []string{"away-app", "theirs-app", "unknown-app", "web-app"}
	for _, step := range []struct {
		reason string
		after  time.Duration
		fails  int
		want   []string
	}{
		{"the first interval begins", 0, 0, all},
		{"it lasts", 10*time.Minute - 1, 0, all},
		{"they cannot be read", 10 * time.Minute, 1, all},
		{"the next interval lasts", 20*time.Minute - 1, 0, all},
		{"and ends", 20 * time.Minute, 0, needed},
	} {
		s.unreadable = step.fails
		s.Collect(t.Context(), noon.Add(step.after))
		if got := slices.Sorted(maps.Keys(s.checkpoints)); !slices.Equal(got, step.want) {
			t.Errorf("%s: %v are left, want %v", step.reason, got, step.want)
		}
	}
	stored(namespace, "web", "removed")
	s.Policy.Usage.Divergences &^= divergence.LiveContainers
	s.Collect(t.Context(), noon.Add(time.Hour))
	if s.checkpoints["web-removed"] == nil {
		t.Error("upstream keeps the checkpoint of a removed container")
	}
}

// TestRead: reading is tried until it succeeds. An autoscaler gets its own history; a damaged checkpoint is reported.
func TestRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newStage()
		web := before.autoscaler(t, "web", "app")
		before.save(t.Context(), noon)
		s := newStage()
		s.checkpoints, s.unreadable = before.checkpoints, 2
		damaged := before.checkpoints["web-app"].DeepCopy()
		damaged.Name, damaged.Spec.ContainerName, damaged.Status.Version = "web-bad", "bad", "v0"
		ignored := before.checkpoints["web-app"].DeepCopy()
		ignored.Name, ignored.Namespace = "ignored-app", "ignored"
		s.checkpoints[damaged.Name], s.checkpoints[ignored.Name] = damaged, ignored
		began := time.Now()
		if !s.Read(t.Context()) || time.Since(began) != 2*retryPause {
			t.Errorf("read after %v", time.Since(began))
		}
		if len(s.unclaimed) != 1 {
			t.Errorf("checkpoints of %d objects are read", len(s.unclaimed))
		}
		state := s.Restore(noon, web)
		if len(state.Containers) != 2 || state.Containers[0].Usage.Newest().IsZero() || state.Containers[1].Damage == "" {
			t.Errorf("restored %+v", state)
		}
		if again := s.Restore(noon, web); len(again.Containers) != 0 {
			t.Errorf("restored again: %+v", again)
		}
		s.unreadable = 1
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if s.Read(ended) {
			t.Error("read, though the context ended")
		}
	})
}

// TestForgetUnclaimed: after the start only checkpoints of awaited objects are kept.
func TestForgetUnclaimed(t *testing.T) {
	s := newStage()
	s.unclaimed = map[types.NamespacedName][]stored{
		{Namespace: namespace, Name: "gone"}: nil, {Namespace: namespace, Name: "late"}: nil,
	}
	s.ForgetUnclaimed([]*vpav1.VerticalPodAutoscaler{{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late"}}})
	if _, ok := s.unclaimed[types.NamespacedName{Namespace: namespace, Name: "late"}]; !ok || len(s.unclaimed) != 1 {
		t.Errorf("kept: %v", s.unclaimed)
	}
}

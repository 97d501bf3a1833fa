package checkpoints

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	kubecheckpoints "github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

var (
	resource = plimsollv1alpha1.Resource(plimsollv1alpha1.AutoscalerCheckpoints)
	web      = observe.HPA("shop", "web")
)

// store is a fake API server with resource versions.
type store struct {
	// refuse returns the error of a call, nil if it succeeds.
	refuse func(call string) error
	// lasts is how long a write takes.
	lasts time.Duration

	mu      sync.Mutex
	objects map[types.NamespacedName]*plimsollv1alpha1.AutoscalerCheckpoint
	version int
	// writes has the successful ones, in order; calls counts all by their kind.
	writes []write
	calls  map[string]int
	// running is the number of concurrent writes, most its maximum.
	running, most int
}

type write struct {
	name string
	at   time.Time
}

var _ Client = (*store)(nil)

func newStore(objects ...*plimsollv1alpha1.AutoscalerCheckpoint) *store {
	s := &store{objects: map[types.NamespacedName]*plimsollv1alpha1.AutoscalerCheckpoint{}, calls: map[string]int{}}
	for _, o := range objects {
		s.put(o)
	}
	return s
}

// put stores an object as it is.
func (s *store) put(o *plimsollv1alpha1.AutoscalerCheckpoint) string {
	s.version++
	o = o.DeepCopy()
	o.ResourceVersion = strconv.Itoa(s.version)
	if o.UID == "" {
		o.UID = types.UID("checkpoint-" + o.ResourceVersion)
	}
	s.objects[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
	return o.ResourceVersion
}

// replaced puts an object for another writer, between calls.
func (s *store) replaced(o *plimsollv1alpha1.AutoscalerCheckpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(o)
}

// remove deletes an object for another writer, between calls.
func (s *store) remove(key observe.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, kubecheckpoints.NameOf(key))
}

// size returns how many objects there are.
func (s *store) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects)
}

// of returns an autoscaler's checkpoint, nil if there is none.
func (s *store) of(key observe.Key) *plimsollv1alpha1.AutoscalerCheckpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[kubecheckpoints.NameOf(key)].DeepCopy()
}

func (s *store) begin(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[call]++
	if s.refuse != nil {
		return s.refuse(call)
	}
	return nil
}

func (s *store) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

func (s *store) refuseWith(refuse func(call string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Each implements Client.
func (s *store) Each(_ context.Context, visit func(*plimsollv1alpha1.AutoscalerCheckpoint)) error {
	if err := s.begin("list"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.objects {
		visit(o.DeepCopy())
	}
	return nil
}

// Get implements Client.
func (s *store) Get(
	_ context.Context, name types.NamespacedName,
) (*plimsollv1alpha1.AutoscalerCheckpoint, error) {
	if err := s.begin("get"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[name] == nil {
		return nil, apierrors.NewNotFound(resource, name.Name)
	}
	return s.objects[name].DeepCopy(), nil
}

// Create implements Client.
func (s *store) Create(ctx context.Context, o *plimsollv1alpha1.AutoscalerCheckpoint) (string, error) {
	return s.write(ctx, "create", o, func(found *plimsollv1alpha1.AutoscalerCheckpoint) error {
		if found != nil {
			return apierrors.NewAlreadyExists(resource, o.Name)
		}
		return nil
	})
}

// Replace implements Client.
func (s *store) Replace(ctx context.Context, o *plimsollv1alpha1.AutoscalerCheckpoint) (string, error) {
	return s.write(ctx, "replace", o, func(found *plimsollv1alpha1.AutoscalerCheckpoint) error {
		switch {
		case found == nil:
			return apierrors.NewNotFound(resource, o.Name)
		case found.ResourceVersion != o.ResourceVersion:
			return apierrors.NewConflict(resource, o.Name, nil)
		}
		return nil
	})
}

func (s *store) write(
	ctx context.Context, call string, o *plimsollv1alpha1.AutoscalerCheckpoint,
	check func(found *plimsollv1alpha1.AutoscalerCheckpoint) error,
) (string, error) {
	if err := s.begin(call); err != nil {
		return "", err
	}
	s.mu.Lock()
	s.running++
	s.most = max(s.most, s.running)
	s.mu.Unlock()
	select {
	case <-time.After(s.lasts):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err := check(s.objects[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}]); err != nil {
		return "", err
	}
	s.writes = append(s.writes, write{o.Namespace + "/" + o.Name, time.Now()})
	return s.put(o), nil
}

// Delete implements Client.
func (s *store) Delete(_ context.Context, name types.NamespacedName, uid types.UID) error {
	if err := s.begin("delete"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch found := s.objects[name]; {
	case found == nil:
		return nil
	case found.UID != uid:
		return apierrors.NewConflict(resource, name.Name, nil)
	}
	delete(s.objects, name)
	return nil
}

// checkpoint returns one of an autoscaler, as an earlier leader has written it.
func checkpoint(key observe.Key, uid types.UID, history, forecast string, at time.Time) *plimsollv1alpha1.AutoscalerCheckpoint {
	o := objectOf(&entry{key: key, uid: uid}, &Data{History: []byte(history), Forecast: []byte(forecast)})
	o.Spec.LastUpdateTime.Time = at
	return o
}

// world is a Keeper with its surroundings.
type world struct {
	*Keeper
	store    *store
	registry *prometheus.Registry

	mu sync.Mutex
	// data has the data to save, by name; busy is set while all autoscalers are being decided.
	data  map[observe.Key]Data
	busy  bool
	leads bool
	lines []string
	// encoded are the times at which an autoscaler was encoded.
	encoded []time.Time
}

func newWorld(t *testing.T, s *store) *world {
	t.Helper()
	w := &world{store: s, registry: prometheus.NewRegistry(), data: map[observe.Key]Data{}, leads: true}
	var err error
	w.Keeper, err = New(&Config{
		Client: s, Registerer: w.registry,
		Encode: func(key observe.Key, _ types.UID) (Data, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.busy {
				return Data{}, ErrBusy
			}
			w.encoded = append(w.encoded, time.Now())
			return w.data[key], nil
		},
		IsKnown: func(key observe.Key, _ types.UID) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			_, isKnown := w.data[key]
			return isKnown
		},
		MayFlush: func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.leads
		},
		Log: funcr.New(func(_, line string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lines = append(w.lines, line)
		}, funcr.Options{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) set(key observe.Key, history, forecast string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.data[key] = Data{History: []byte(history), Forecast: []byte(forecast)}
}

// logged returns the lines of the log until now.
func (w *world) logged() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.lines...)
}

// total returns the value of a counter.
func (w *world) total(t *testing.T, name, result string) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "plimsoll_autoscaler_checkpoint_"+name && m.GetLabel()[0].GetValue() == result {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no series %s of %s", name, result)
	return 0
}

// many returns autoscalers with something to save.
func (w *world) many(n int) []observe.Key {
	keys := make([]observe.Key, n)
	for i := range keys {
		keys[i] = observe.HPA("shop", fmt.Sprintf("web-%05d", i))
		w.set(keys[i], "history of "+keys[i].Name, "")
	}
	return keys
}

// uidOf returns an autoscaler's UID.
func uidOf(key observe.Key) types.UID { return types.UID("uid-of-" + key.Kind.String() + key.String()) }

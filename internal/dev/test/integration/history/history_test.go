package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// shared is the cluster of all tests here.
var shared harness.Shared

func TestMain(m *testing.M) { shared.Main(m) }

// create adds an HPA "web" of a Deployment with a known load.
func create(s *harness.Namespace) {
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Queue("jobs", 15), hpa())
}

func hpa() *autoscalingv2.HorizontalPodAutoscaler {
	return harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10")))
}

// decode is an encoded history, which has a point at least.
func decode(encoded []byte) (*loadhistory.History, error) {
	history := new(loadhistory.History)
	if err := history.UnmarshalBinary(encoded); err != nil {
		return nil, err
	}
	if _, isAny := history.First(); !isAny {
		return nil, errors.New("nothing is recorded")
	}
	return history, nil
}

// reachesBack holds for a history with what was recorded at a time. Its first point may begin earlier: minutes become
// points of a minute and of five, whatever the time is at which the test runs.
func reachesBack(at time.Time) func(*loadhistory.History) error {
	return func(history *loadhistory.History) error {
		if first, _ := history.First(); first.After(at) {
			return fmt.Errorf("recorded since %s only, not since %s", first, at)
		}
		return nil
	}
}

// beginsAfter holds for a history that has no point of the time before another.
func beginsAfter(at time.Time) func(*loadhistory.History) error {
	return func(history *loadhistory.History) (err error) {
		history.Points(time.Time{}, at, func(p loadhistory.Point) bool {
			if end := p.At.Add(p.Every); end.Before(at.Add(-time.Second)) {
				err = fmt.Errorf("recorded from %s until %s, before %s", p.At, end, at)
			}
			return err == nil
		})
		return err
	}
}

// awaitHistory waits until what the controller has recorded of "web" is as it should be.
func awaitHistory(t *testing.T, s *harness.Namespace, p *harness.Plimsoll, check func(*loadhistory.History) error) {
	t.Helper()
	url := fmt.Sprintf("http://%s/horizontalpodautoscalers/%s/web/history", p.Inspection(), s.Name)
	s.Eventually("the history", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		encoded, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", response.Status, encoded)
		}
		history, err := decode(encoded)
		if err != nil {
			return err
		}
		return check(history)
	})
}

// saved is the checkpoint of "web".
func saved(t *testing.T, s *harness.Namespace) *plimsollv1alpha1.AutoscalerCheckpoint {
	t.Helper()
	client, err := checkpoints.New(s.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.Get(t.Context(), checkpoints.NameOf(observe.HPA(s.Name, "web")))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func start(t *testing.T, p *harness.Plimsoll) {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Without the definition of the checkpoints the controller continues. With it, the recorded and learnt state is there
// again after the controller was stopped, and after it was killed. Another HPA of the same name starts without it, and
// replaces the first in the checkpoint.
func TestHistoryOutlivesTheController(t *testing.T) {
	s, p := shared.Namespace(t), shared.Plimsoll(t)
	create(s)
	s.AwaitDecisions("web", 5)
	awaitHistory(t, s, p, reachesBack(time.Now()))
	p.Stop(t.Context())
	if lines, err := s.LogLines("checkpoints of autoscalers cannot be read"); err != nil || len(lines) != 1 {
		t.Errorf("the log says %d times that there are no checkpoints: %v", len(lines), err)
	}

	if err := s.Cluster.InstallDefinitions(t.Context(), plimsollv1alpha1.SchemeGroupVersion.Group); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	start(t, p)
	s.AwaitDecisions("web", 5)
	awaitHistory(t, s, p, beginsAfter(began))
	p.Stop(t.Context())
	first := saved(t, s)
	history, err := decode(first.Spec.History)
	if err != nil || first.Spec.Autoscaler.UID != s.HPA("web").UID || first.OwnerReferences[0].UID != s.HPA("web").UID {
		t.Fatalf("%+v: %v", first, err)
	}
	if err := forecast.New().UnmarshalBinary(first.Spec.Forecast); err != nil {
		t.Errorf("what the forecast has learnt: %v", err)
	}
	since, _ := history.First()
	start(t, p)
	awaitHistory(t, s, p, reachesBack(since))
	p.Kill()
	start(t, p)
	awaitHistory(t, s, p, reachesBack(since))
	p.Stop(t.Context())

	s.Kubectl("delete", "hpa", "web")
	anew := time.Now()
	s.Create(hpa())
	start(t, p)
	s.AwaitDecisions("web", 5)
	awaitHistory(t, s, p, beginsAfter(anew))
	p.Stop(t.Context())
	if second := saved(t, s); second.Spec.Autoscaler.UID != s.HPA("web").UID ||
		second.Spec.Autoscaler.UID == first.Spec.Autoscaler.UID {
		t.Errorf("%+v", second.Spec)
	}
}

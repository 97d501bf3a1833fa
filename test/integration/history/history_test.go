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
	"github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

// shared is the cluster of all tests here.
var shared harness.Shared

func TestMain(m *testing.M) { shared.Main(m) }

// create adds an HPA "web" of a Deployment, whose load is known at once.
func create(s *harness.Namespace) {
	s.Create(harness.Workload{Replicas: ptr.To[int32](2)}.Deployment(), harness.Queue("jobs", 15), hpa())
}

func hpa() *autoscalingv2.HorizontalPodAutoscaler {
	return harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10")))
}

// decode is an encoded history, which has a point at least.
func decode(encoded []byte) (since time.Time, err error) {
	var history loadhistory.History
	if err := history.UnmarshalBinary(encoded); err != nil {
		return since, err
	}
	since, isAny := history.First()
	if !isAny {
		return since, errors.New("nothing is recorded")
	}
	return since, nil
}

// recordedSince waits until the oldest point of what the controller has of "web" begins at a time that fits.
func recordedSince(t *testing.T, s *harness.Namespace, p *harness.Plimsoll, fits func(since time.Time) bool) {
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
		since, err := decode(encoded)
		if err == nil && !fits(since) {
			err = fmt.Errorf("recorded since %s", since)
		}
		return err
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

// Without the definition of the checkpoints the controller goes on. With it, what was recorded and learnt is there again
// after the controller was told to end, and after it was killed. Another HPA of the same name begins anew, and takes the
// place of the first in the checkpoint.
func TestHistoryOutlivesTheController(t *testing.T) {
	s, p := shared.Namespace(t), shared.Plimsoll(t)
	create(s)
	s.AwaitDecisions("web", 5)
	anyTime := func(time.Time) bool { return true }
	recordedSince(t, s, p, anyTime)
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
	recordedSince(t, s, p, began.Add(-time.Second).Before)
	p.Stop(t.Context())
	first := saved(t, s)
	since, err := decode(first.Status.History)
	if err != nil || first.Spec.Autoscaler.UID != s.HPA("web").UID || first.OwnerReferences[0].UID != s.HPA("web").UID {
		t.Fatalf("%+v: %v", first, err)
	}
	if err := forecast.New().UnmarshalBinary(first.Status.Forecast); err != nil {
		t.Errorf("what the forecast has learnt: %v", err)
	}
	isFirst := func(at time.Time) bool { return at.Equal(since) }
	start(t, p)
	recordedSince(t, s, p, isFirst)
	p.Kill()
	start(t, p)
	recordedSince(t, s, p, isFirst)
	p.Stop(t.Context())

	s.Kubectl("delete", "hpa", "web")
	s.Create(hpa())
	start(t, p)
	s.AwaitDecisions("web", 5)
	recordedSince(t, s, p, since.Before)
	p.Stop(t.Context())
	if second := saved(t, s); second.Spec.Autoscaler.UID != s.HPA("web").UID ||
		second.Spec.Autoscaler.UID == first.Spec.Autoscaler.UID {
		t.Errorf("%+v", second.Spec)
	}
}

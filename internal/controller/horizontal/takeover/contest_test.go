package takeover

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestNoPauseBeginsForAnHPAThatIsGone: the informer may report a status write of another controller while a worker
// drops the HPA. The series of contested HPAs would count it for good.
func TestNoPauseBeginsForAnHPAThatIsGone(t *testing.T) {
	series, err := monitor.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	d := New(&Config{
		FieldManager: FieldManager, Mode: Act, Delay: DefaultDelay, Series: series, Events: record.NewFakeRecorder(10),
		Log: logr.Discard(),
	})
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Subresource: "status", Time: &metav1.Time{Time: time.Now()},
		}},
	}, Status: autoscalingv2.HorizontalPodAutoscalerStatus{DesiredReplicas: 2}}
	for gone, want := range map[bool]float64{false: 1, true: 0} {
		series.Contested.Set(0)
		var c Contest
		d.Added(&c, observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{}))
		if gone {
			d.Forget(&c)
		}
		d.Updated(&c, observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{}), observehorizontal.HPA(hpa))
		if got := testutil.ToFloat64(series.Contested); got != want {
			t.Errorf("gone: %t, contested: %g, want %g", gone, got, want)
		}
	}
}

// TestRecreatedObject: an HPA is deleted and created again within a moment, as KEDA does when its name changes. A worker
// may drop the first one after the informer has reported the second, and decide the second before the informer reports
// it. Neither makes Plimsoll act on an HPA that kube-controller-manager acts on.
func TestRecreatedObject(t *testing.T) {
	series, err := monitor.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Auto, Act} {
		d := New(&Config{FieldManager: FieldManager, Mode: mode, Delay: DefaultDelay, Series: series,
			Events: record.NewFakeRecorder(10), Log: logr.Discard()})
		d.Start()
		hpa := observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		})
		var first, second Contest
		d.Added(&first, hpa)
		d.Forget(&first)
		d.Added(&first, hpa)
		if first.isCounted {
			t.Errorf("%s: the series of states counts a deleted object", mode)
		}
		if state, _, _ := d.State(&second, hpa); (state == Acting) != (mode == Act) || second.IsPaused() != (mode == Auto) {
			t.Errorf("%s: an object that the informer has not reported is %s, paused %t", mode, state, second.IsPaused())
		}
	}
}

// TestLeftToARemovedInstallation: installed in another namespace than before, Plimsoll waits for the installation that
// was removed. The log has the waiting time, once for all objects; a start causes no event of any of them.
func TestLeftToARemovedInstallation(t *testing.T) {
	series, err := monitor.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for writer, isLeft := range map[string]bool{FieldManager: true, FieldManager + "/elsewhere": false} {
		events, lines := record.NewFakeRecorder(10), 0
		log := funcr.New(func(_, line string) {
			if strings.Contains(line, `"wait"="12m0s"`) {
				lines++
			}
		}, funcr.Options{})
		d := New(&Config{FieldManager: FieldManager + "/elsewhere", Mode: Auto, Delay: DefaultDelay, Series: series,
			Events: events, Log: log})
		d.Start()
		for _, name := range []string{"web", "api"} {
			var c Contest
			d.Added(&c, observehorizontal.WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ManagedFields: []metav1.ManagedFieldsEntry{{
					Manager: writer, Subresource: "status", Time: &metav1.Time{Time: time.Now()},
				}}},
				Status: plimsollv1alpha1.WorkloadAutoscalerStatus{Conditions: []metav1.Condition{{Type: "AbleToScale"}}},
			}))
			if c.IsPaused() != isLeft {
				t.Errorf("%s: %s is paused: %t", writer, name, c.IsPaused())
			}
		}
		if isLeft != (lines == 1) || len(events.Events) > 0 {
			t.Errorf("%s: %d lines in the log, %d events", writer, lines, len(events.Events))
		}
		// An object without a writer is left to the other installation, too, although that one never wrote it.
		var fresh Contest
		d.Added(&fresh, observehorizontal.WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "fresh"},
		}))
		if fresh.IsPaused() != isLeft || len(events.Events) > 0 {
			t.Errorf("%s: of an object without a status: paused %t, %d events", writer, fresh.IsPaused(), len(events.Events))
		}
	}
}

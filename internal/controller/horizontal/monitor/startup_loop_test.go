package monitor_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// sums returns the number and the sum of a histogram's values, by the value of its label.
func (w *world) sums(name string) map[string][2]float64 {
	w.T.Helper()
	families, err := w.Registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}
	found := map[string][2]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			label := ""
			for _, l := range m.GetLabel() {
				label = l.GetValue()
			}
			found[label] = [2]float64{float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetSampleSum()}
		}
	}
	return found
}

// TestMeasuresHowPodsStart: the series measure the start of pods that a scale-up created, but not of an additional pod,
// and not of one that becomes ready again.
func TestMeasuresHowPodsStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Set(func() { w.Usage = 150 })
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.WantReplicas("web", 3, "75 % of the request against 50 %")
		written := time.Now()
		w.Set(func() { w.Usage = 100 })
		status := func(name string, ready corev1.ConditionStatus, at time.Time) *corev1.Pod {
			p := horizontaltest.Pod(name, map[string]string{"app": "web"})
			condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus,
				at time.Time) corev1.PodCondition {
				return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(at)}
			}
			p.CreationTimestamp = metav1.NewTime(written.Add(time.Second))
			p.Status.Conditions = []corev1.PodCondition{
				condition(corev1.PodScheduled, corev1.ConditionTrue, written.Add(3*time.Second)),
				condition(corev1.PodReady, ready, at),
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "web", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{
					StartedAt: metav1.NewTime(written.Add(6 * time.Second)),
				}},
			}}
			return p
		}
		for _, name := range []string{"web-new", "web-one-more"} {
			w.Add(horizontaltest.PodResource, status(name, corev1.ConditionFalse, written.Add(3*time.Second)))
			w.Pass(11 * time.Second)
			w.Store(horizontaltest.PodResource, status(name, corev1.ConditionTrue, written.Add(10*time.Second)))
			w.Pass(time.Second)
		}
		w.Store(horizontaltest.PodResource, status("web-new", corev1.ConditionFalse, written.Add(25*time.Second)))
		w.Pass(time.Second)
		w.Store(horizontaltest.PodResource, status("web-new", corev1.ConditionTrue, written.Add(26*time.Second)))
		w.Pass(time.Second)
		got := w.sums("plimsoll_horizontal_startup_seconds")
		for part, want := range map[string]float64{"scheduling": 2, "image": 3, "readiness": 4} {
			if got[part] != [2]float64{1, want} {
				t.Errorf("%s has (number, seconds) %v, want one of %g s", part, got[part], want)
			}
		}
		if n := got["creation"][0]; n != 1 {
			t.Errorf("creation has %v, want one", got["creation"])
		}
		if n := got["sandbox"][0] + got["init"][0]; n != 0 {
			t.Errorf("%g pods have parts of which the status does not tell", n)
		}
		whole := w.sums("plimsoll_horizontal_scale_to_ready_seconds")[""]
		if whole[0] != 1 || whole[1] < 10 || whole[1] > 11 {
			t.Errorf("in all it took (number, seconds) %v, want one of 10 s since the write, which was in the "+
				"second before", whole)
		}
	})
}

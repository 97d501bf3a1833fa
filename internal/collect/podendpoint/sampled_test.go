package podendpoint

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// fresh are pods that became ready now, or are not ready.
func fresh(first, n int, status corev1.ConditionStatus) []*observe.Pod {
	var all []*observe.Pod
	for i := range n {
		pod := podOf(first + i)
		pod.Status.Conditions[0].Status = status
		pod.Status.Conditions[0].LastTransitionTime = metav1.Now()
		all = append(all, observe.PodOf(pod))
	}
	return all
}

// Pods that are starting are not in the sample, and are not scraped.
func TestSampleBesideNewPods(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const old, added = 20, 20
		f := begin(t, Config{MaxPerSecond: 10})
		for _, pod := range pods(0, old+added) {
			f.page[pod.Name] = f.requests(10)
		}
		q := rateQuery(pods(0, old))
		if got, err := f.run(q, 40*time.Second); err != nil || strings.Count(got, "?") < old/4 {
			t.Fatalf("%s, %v", got, err)
		}
		q.Pods = append(q.Pods, fresh(old, added, corev1.ConditionFalse)...)
		got, err := f.run(q, 10*time.Second)
		if values := strings.Fields(got); err != nil || strings.Join(values[old:], "") != strings.Repeat("?", added) {
			t.Errorf("with pods that are starting: %s, %v", got, err)
		}
	})
}

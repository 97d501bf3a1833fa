package horizontal

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// BenchmarkSampled delivers new samples of a node with pods of a hundred objects, among 2,000 with ten pods each on 200
// nodes.
func BenchmarkSampled(b *testing.B) {
	const objects, pods, nodes = 2000, 10, 200
	t := &triggers{isOn: true, pods: podindex.New(), queue: schedule.New(), records: newHPARecords(time.Second)}
	never := time.Now().Add(time.Hour)
	for i := range objects {
		object := observe.HPA(fmt.Sprint("shop-", i/20), fmt.Sprint("web-", i))
		for n := range pods {
			t.pods.Put(observe.PodOf(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: fmt.Sprint(object.Name, "-", n),
					Labels: map[string]string{"app": object.Name}},
				Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", (i*pods+n)%nodes)},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
					{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			}))
		}
		t.pods.Claim(object, podindex.SelectorOf(labels.SelectorFromSet(labels.Set{"app": object.Name})),
			t.records.of(object))
		t.queue.AddFull(object, never)
	}
	uses := make([][]rate.PodUse, nodes)
	for i := range objects * pods {
		uses[i%nodes] = append(uses[i%nodes], rate.PodUse{
			Namespace: fmt.Sprint("shop-", i/pods/20), Pod: fmt.Sprint("web-", i/pods, "-", i%pods), CPUMilli: 1,
		})
	}
	last, now, i := map[string]time.Time{}, time.Now(), 0
	b.ReportAllocs()
	for b.Loop() {
		node, use := fmt.Sprint("node-", i%nodes), uses[i%nodes]
		i++
		now = now.Add(5 * time.Millisecond)
		t.sampled(podusage.Sampled{Node: node, At: now, Before: last[node], Use: use})
		last[node] = now
	}
}

package takeover

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// BenchmarkDetector has 10,000 HPAs that another controller writes, and several workers: the detector has one lock.
func BenchmarkDetector(b *testing.B) {
	series, err := monitor.New(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	d := New(&Config{
		FieldManager: FieldManager, Mode: Auto, Delay: DefaultDelay, Series: series,
		Events: record.NewFakeRecorder(10), Log: logr.Discard(),
	})
	d.Start()
	contests, hpas := make([]Contest, 10_000), make([]observehorizontal.Autoscaler, 10_000)
	for i := range hpas {
		hpas[i] = observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("hpa-", i), ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "kube-controller-manager", Subresource: "status", Time: &metav1.Time{Time: time.Now()},
			}},
		}, Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			DesiredReplicas: int32(i), Conditions: make([]autoscalingv2.HorizontalPodAutoscalerCondition, 1),
		}})
		d.Added(&contests[i], hpas[i])
	}
	b.Run("state", func(b *testing.B) {
		b.RunParallel(func(next *testing.PB) {
			for i := 0; next.Next(); i++ {
				d.State(&contests[i%len(hpas)], hpas[i%len(hpas)])
			}
		})
	})
	b.Run("update", func(b *testing.B) {
		b.RunParallel(func(next *testing.PB) {
			for i := 0; next.Next(); i++ {
				d.Updated(&contests[i%len(hpas)], hpas[(i+1)%len(hpas)], hpas[i%len(hpas)])
			}
		})
	})
}

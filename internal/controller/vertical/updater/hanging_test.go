package updater

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

// hungScales never respond.
type hungScales struct{ scaleclient.ScaleInterface }

func (s hungScales) Scales(string) scaleclient.ScaleInterface { return s }

func (hungScales) Get(
	ctx context.Context, _ schema.GroupResource, _ string, _ metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// One definition's conversion webhook hangs: 60 of its objects own pods, and 60 objects name such ones as their
// targets. The pods of another workload are still updated.
func TestHungOwnersDoNotStopThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "example.com", Version: "v1"}})
		mapper.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Rollout"}, meta.RESTScopeNamespace)
		r := newRig(t, func(c *Config) {
			c.Lease.Timeout = time.Hour
			var err error
			c.Owners,
				err = ownership.New(ownership.Config{
				Informers: c.Informers, Scales: hungScales{}, Mapper: mapper, Autoscalers: c.Autoscalers,
			})
			if err != nil {
				t.Fatal(err)
			}
		}, "web")
		go r.cfg.Owners.Run(ctx)
		for i := range 60 {
			name := fmt.Sprintf("hung-%d", i)
			vpa := autoscaler(name)
			vpa.Spec.TargetRef.APIVersion, vpa.Spec.TargetRef.Kind = "example.com/v1", "Rollout"
			_ = r.cfg.Autoscalers.GetStore().Add(&vpa)
			_ = r.cfg.Informers.Core().V1().Pods().Informer().GetStore().Add(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name),
					OwnerReferences: []metav1.OwnerReference{
						{APIVersion: "example.com/v1", Kind: "Rollout", Name: name, Controller: ptr.To(true)},
					}},
				Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			})
		}
		began := time.Now()
		r.passOnce()
		evicted := 0
		for _, name := range r.evicted {
			if strings.HasPrefix(name, "web") {
				evicted++
			}
		}
		if took := time.Since(began); evicted != 2 || took > 6*time.Second {
			t.Errorf("%d of 2 pods were updated, in a pass of %s", evicted, took)
		}
	})
}

package webhook

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

// replicaSets maps the name of each ReplicaSet to the owner of its pods.
type replicaSets map[string]ownership.Owner

func (r replicaSets) TopmostKnown(object metav1.Object) (ownership.Owner, bool, error) {
	top, known := r[metav1.GetControllerOf(object).Name]
	return top, known, nil
}

func (replicaSets) SelectorKnown(ownership.Owner) (labels.Selector, error) {
	return labels.Everything(), nil
}

// BenchmarkReview: one pod among 2,000 objects, from the bytes of the request to those of the response.
func BenchmarkReview(b *testing.B) {
	indexers := MatchIndexers()
	indexers[cache.NamespaceIndex] = cache.MetaNamespaceIndexFunc
	all, known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers), replicaSets{}
	for i := range 2000 {
		vpa := shop()
		vpa.Name = fmt.Sprintf("web-%d", i)
		vpa.Spec.TargetRef.Name = vpa.Name
		if err := all.Add(vpa); err != nil {
			b.Fatal(err)
		}
		known[vpa.Name+"-abc"] = ownership.Owner{Kind: "Deployment", Namespace: "default", Name: vpa.Name}
	}
	h := newHandler(b, NewMatcher(all, known), func(cfg *Config) {
		cfg.Ranges = func(string) *bounds.Ranges { return &bounds.Ranges{HasPod: true} }
	})
	body := review(pods, podOf(b, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1234-abc", Controller: ptr.To(true)}},
	}}))
	b.ReportAllocs()
	for b.Loop() {
		response, _ := ask(b, h, body)
		if response == nil || response.Patch == nil {
			b.Fatal("the pod was not changed")
		}
	}
}

// podOf is a pod with the usual fields: environment, volumes and probes.
func podOf(t testing.TB, pod *corev1.Pod) string {
	t.Helper()
	template := appsv1.Deployment{}.Spec.Template
	container := corev1.Container{Name: "web", Image: "registry.example/web:1"}
	for i := range 40 {
		container.Env = append(container.Env,
			corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "a value of some length"})
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: fmt.Sprintf("v-%d", i), MountPath: fmt.Sprintf("/mnt/%d", i)})
		template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v-%d", i)})
	}
	template.Spec.Containers = append(template.Spec.Containers, container, corev1.Container{Name: "proxy"})
	pod.Spec = template.Spec
	return marshal(t, pod)
}

package sources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/workloads"
)

// objects are those of a test's namespace.
type objects struct {
	*workloads.Autoscalers
	t *testing.T
}

func objectsOf(t *testing.T) *objects {
	t.Helper()
	return &objects{Autoscalers: workloads.Of(t, namespace(t)), t: t}
}

// pod makes a pod with a status as a kubelet would write it. No scheduler and no kubelet of the cluster has a part in
// it. change may be nil.
func (o *objects) pod(name, address string, port int32, change func(*corev1.Pod)) {
	o.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{SchedulerName: "none", Containers: []corev1.Container{
			{Name: "app", Image: "registry.example/app:1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}}},
		}},
	}
	if change != nil {
		change(pod)
	}
	created, err := o.Client.CoreV1().Pods(o.Name).Create(o.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	o.run(created, address)
}

// run makes the pod running and ready, at an address.
func (o *objects) run(pod *corev1.Pod, address string) {
	o.t.Helper()
	now := metav1.Now()
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}, StartTime: &now,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
	}
	if _, err := o.Client.CoreV1().Pods(o.Name).UpdateStatus(o.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

// service makes a Service of the pods with its name. change may be nil.
func (o *objects) service(name string, change func(*corev1.Service)) {
	o.t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Port: 9090, TargetPort: intstr.FromString("http")}},
		},
	}
	if change != nil {
		change(service)
	}
	o.Create(service)
}

// secret makes a Secret with the key token.
func (o *objects) secret(name, token, hosts string) {
	o.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"token": token}}
	if hosts != "" {
		secret.Annotations = map[string]string{"plimsoll.dev/metric-hosts": hosts}
	}
	o.Create(secret)
}

// target makes the Deployment web, without pods of its own.
func (o *objects) target() {
	o.t.Helper()
	deployment := harness.Workload{}.Deployment()
	deployment.Spec.Template.Spec.SchedulerName = "none"
	o.Create(deployment)
}

// scale makes a WorkloadAutoscaler web with one metric, of which source is the field and fields its value.
func (o *objects) scale(kind, source, fields string) {
	o.t.Helper()
	o.target()
	o.KubectlInput(fmt.Sprintf(`{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscaler","metadata":{"name":"web"},
		"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":10,
		"metrics":[{"name":"own","type":%q,%q:%s}]}}`, kind, source, fields), "apply", "-f", "-")
}

const target = `"target":{"type":"AverageValue","averageValue":"10"}`

// prometheus scales on a query to the address; more are more of its fields.
func (o *objects) prometheus(address string, more ...string) {
	o.t.Helper()
	fields := append([]string{fmt.Sprintf(`"serverAddress":%q,"query":"jobs","intervalSeconds":1`, address), target}, more...)
	o.scale("Prometheus", "prometheus", "{"+strings.Join(fields, ",")+"}")
}

// scaler scales on an external scaler at the address.
func (o *objects) scaler(address string) {
	o.t.Helper()
	o.scale("ExternalScaler", "externalScaler", fmt.Sprintf(`{"scalerAddress":%q,"intervalSeconds":1,%s}`, address, target))
}

// podEndpoint scales on the pods' pages; more are more of its fields. It returns the one pod that there is, which has no
// address yet.
func (o *objects) podEndpoint(port int32, more ...string) *corev1.Pod {
	o.t.Helper()
	fields := append([]string{fmt.Sprintf(`"port":%d,"metric":{"name":"jobs"},"valueType":"Gauge"`, port), target}, more...)
	o.scale("PodEndpoint", "podEndpoint", "{"+strings.Join(fields, ",")+"}")
	var found *corev1.Pod
	o.Eventually("a pod", func(ctx context.Context) error {
		list, err := o.Client.CoreV1().Pods(o.Name).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err == nil && len(list.Items) == 0 {
			err = fmt.Errorf("no pod of %T", &appsv1.Deployment{})
		}
		if err == nil {
			found = &list.Items[0]
		}
		return err
	})
	return found
}

// awaitRefusal waits until the condition has the text, as the metric cannot be read.
func (o *objects) awaitRefusal(text string) {
	o.t.Helper()
	o.AwaitWLA("web", "refusal "+text, func(object *plimsollv1alpha1.WorkloadAutoscaler) error {
		for i := range object.Status.Conditions {
			c := &object.Status.Conditions[i]
			if c.Type == "ScalingActive" && c.Status == metav1.ConditionFalse && strings.Contains(c.Message, text) {
				return nil
			}
		}
		return errors.New("no such condition")
	})
}

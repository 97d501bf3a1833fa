package sources

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// others scales web, from zero replicas, on the pages of pods that these fields select.
func (o *objects) others(fields string, port int32) {
	o.t.Helper()
	o.target()
	o.Kubectl("scale", "deployment", "web", "--replicas=0")
	o.KubectlInput(fmt.Sprintf(`{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscaler",
		"metadata":{"name":"web"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"minReplicas":0,
		"maxReplicas":10,"scaleToZero":{},"metrics":[{"name":"own","type":"PodEndpoint","podEndpoint":{%s,"port":%d,"metric":{"name":"jobs"},
		"valueType":"Gauge",%s}}]}}`, fields, port, target), "apply", "-f", "-")
}

// The pods of a gateway wake the target and scale it.
func TestOtherPodsAreAsked(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{
		"podSelector": `"podSelector":{"matchLabels":{"app":"gateway"}}`, "service": `"service":"gateway"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := objectsOf(t)
			s := listen(t, home, nil)
			o.pod("gateway", home, s.port, nil)
			o.service("gateway", nil)
			o.others(fields, s.port)
			o.AwaitReplicas(harness.Deployment, "web", 4)
		})
	}
}

// No selector and no Service leads to an address that the author may not connect to.
func TestOtherPodsElsewhere(t *testing.T) {
	t.Parallel()
	const service, selector = `"service":"gateway"`, `"podSelector":{"matchLabels":{"app":"gateway"}}`
	for name, c := range map[string]struct {
		fields string
		make   func(o *objects, s *server)
		want   string
	}{
		"ExternalName": {service, func(o *objects, _ *server) {
			o.service("gateway", func(s *corev1.Service) {
				s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}
			})
		}, "it is of type ExternalName"},
		"no selector": {service, func(o *objects, _ *server) {
			o.service("gateway", func(s *corev1.Service) { s.Spec.Selector = nil })
		}, "it has no selector"},
		"no Service": {service, func(*objects, *server) {}, "does not exist"},
		"no pod":     {selector, func(*objects, *server) {}, "no pod of the namespace matches podSelector app=gateway"},
		"loopback": {selector, func(o *objects, s *server) {
			o.pod("gateway", forbidden, s.port, nil)
		}, "loopback"},
		"host network": {selector, func(o *objects, s *server) {
			o.pod("gateway", "10.99.0.1", s.port, func(pod *corev1.Pod) {
				pod.Spec.HostNetwork = true
				pod.Spec.Containers[0].Ports[0].HostPort = s.port
			})
		}, "in the network of its node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := objectsOf(t)
			s := listen(t, forbidden, nil)
			c.make(o, s)
			o.others(c.fields, s.port)
			o.awaitRefusal(c.want)
			s.wantUntouched(t)
		})
	}
}

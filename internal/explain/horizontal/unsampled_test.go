package horizontal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// TestUnsampledContainers: a container without a sample is named, a native sidecar too, with what follows for the
// metric.
func TestUnsampledContainers(t *testing.T) {
	const (
		native = "initContainers: [{name: mesh, restartPolicy: Always, resources: {requests: {cpu: 100m}}}], containers: " +
			"[{name: app, resources: {requests: {cpu: 100m}}}]"
		plain = "containers: [{name: app, resources: {requests: {cpu: 100m}}}, {name: mesh, resources: {requests: {cpu: 100m}}}]"
		once  = "initContainers: [{name: mesh}], containers: [{name: app, resources: {requests: {cpu: 100m}}}]"

		utilization = "{type: Utilization, averageUtilization: 50}"
		average     = "{type: AverageValue, averageValue: 50m}"

		app     = "{name: app, usage: {cpu: 90m, memory: 1Mi}}"
		both    = app + ", {name: mesh, usage: {cpu: 90m, memory: 1Mi}}"
		noUsage = app + ", {name: mesh, usage: {memory: 1Mi}}"
	)
	for name, tt := range map[string]struct{ spec, target, samples, short, long string }{
		"all":                    {native, utilization, both, "", ""},
		"a finished container":   {once, utilization, app, "", ""},
		"a native sidecar":       {native, utilization, app, "; no sample of container mesh in 2 pods", "of container mesh in 2 pods: the value lacks its use, and its request counts"},
		"a container":            {plain, utilization, app, "; no sample of container mesh in 2 pods", "of container mesh in 2 pods: the value lacks its use, and its request counts"},
		"no request counts":      {native, average, app, "; no sample of container mesh in 2 pods", "of container mesh in 2 pods: the value lacks its use"},
		"a sidecar without CPU":  {native, utilization, noUsage, "; no sample of container mesh in 2 pods", "of container mesh in 2 pods: these pods have no sample"},
		"a container of another": {native, "{type: Utilization, averageUtilization: 50}}, container: app", app, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			kind, source := "Resource", "resource: {name: cpu, target: "+tt.target+"}"
			if strings.Contains(tt.target, "container:") {
				kind, source = "ContainerResource", "containerResource: {name: cpu, target: "+tt.target+"}"
				source = strings.Replace(source, "}}, container", "}, container", 1)
			}
			text := strings.Replace(document, "maxReplicas: 5,", "maxReplicas: 5, metrics: [{type: "+kind+", "+source+"}],", 1)
			for i := range 2 {
				text += fmt.Sprintf(`
- apiVersion: v1
  kind: Pod
  metadata: {name: web-%[1]d, namespace: shop, labels: {app: web}}
  spec: {%[2]s}
  status: {phase: Running, startTime: "2026-11-20T11:00:00Z", conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-20T11:00:30Z"}]}
- apiVersion: metrics.k8s.io/v1beta1
  kind: PodMetrics
  metadata: {name: web-%[1]d, namespace: shop, labels: {app: web}}
  timestamp: "2026-11-20T11:59:50Z"
  window: 15s
  containers: [%[3]s]`, i, tt.spec, tt.samples)
			}
			e, err := Explain(stepOf(t, text), divergence.Default, 15*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			var short, long bytes.Buffer
			if err := errors.Join(e.WriteText(&short, Style{}), e.WriteText(&long, Style{Verbose: true})); err != nil {
				t.Fatal(err)
			}
			for _, form := range []struct{ text, label, want string }{
				{short.String(), "no sample of", tt.short}, {long.String(), "  no sample ", tt.long},
			} {
				has := strings.Contains(form.text, form.label)
				if has != (form.want != "") || !strings.Contains(form.text, form.want) {
					t.Errorf("want %q:\n%s", form.want, form.text)
				}
			}
		})
	}
}

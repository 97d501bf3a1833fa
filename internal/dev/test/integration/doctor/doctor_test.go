package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/doctor"
	"github.com/plimsoll-dev/plimsoll/internal/doctor/judge"
	"github.com/plimsoll-dev/plimsoll/internal/doctor/read"
)

var shared = devclustertest.Shared{Config: devcluster.Config{MetricsServer: true}}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// patience is for what takes some seconds: pods that become ready, permissions, metrics.
const patience = 2 * time.Minute

// workload has typical objects of users, and the Lease of a running leader.
const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: registry.example/simulated:1, resources: {requests: {cpu: 100m}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 6
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: plimsoll-controller, namespace: plimsoll-system}
spec: {holderIdentity: a, leaseDurationSeconds: 3600, renewTime: "RENEWED"}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: vpa-webhook, namespace: plimsoll-system, labels: {kubernetes.io/service-name: vpa-webhook}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]
ports: [{name: webhook, port: 8000}]
`

const secondAutoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: second, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 6
`

// labelled is the namespace of the objects that deadWebhook reviews.
const labelled = `
apiVersion: v1
kind: Namespace
metadata: {name: labelled, labels: {asks: webhook}}
`

const deadWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: gone}
webhooks:
- name: gone.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  namespaceSelector: {matchLabels: {asks: webhook}}
  clientConfig: {service: {namespace: default, name: gone}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
`

// another is an HPA beside the first one, of another target.
const another = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: another, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: another}
  maxReplicas: 6
`

const kedaDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scaledobjects.keda.sh}
spec:
  group: keda.sh
  names: {kind: ScaledObject, listKind: ScaledObjectList, plural: scaledobjects, singular: scaledobject}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const scaledObject = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker, namespace: default}
spec: {scaleTargetRef: {name: worker}, triggers: []}
`

// patient is the cluster that is examined.
type patient struct {
	t       *testing.T
	cluster *devcluster.Cluster
	way     *way
}

// way is the connection between doctor and the API server. The API server proxies to no loopback addresses, which
// simulated nodes have, so their kubelets are read here.
type way struct {
	next, kubelets http.RoundTripper
	ports          map[string]int

	mu sync.Mutex
	// guarded by mu
	behind  time.Duration
	version string
}

var kubeletPath = regexp.MustCompile(`^/api/v1/nodes/([^/]+)/proxy(/metrics/resource)$`)

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if match := kubeletPath.FindStringSubmatch(r.URL.Path); match != nil {
		to := fmt.Sprintf("https://127.0.0.1:%d%s", w.ports[match[1]], match[2])
		request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, to, nil)
		if err != nil {
			return nil, err
		}
		return w.kubelets.RoundTrip(request)
	}
	response, err := w.next.RoundTrip(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || r.URL.Path != "/version" {
		return response, err
	}
	response.Header.Set("Date", time.Now().Add(-w.behind).UTC().Format(http.TimeFormat))
	if w.version != "" {
		response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader([]byte(`{"gitVersion":"` + w.version + `"}`)))
	}
	return response, nil
}

func (w *way) set(behind time.Duration, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.behind, w.version = behind, version
}

func newPatient(t *testing.T) *patient {
	p := &patient{t: t, cluster: shared.Cluster(t)}
	p.way = &way{ports: p.cluster.Kubelets().Ports(), kubelets: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: p.cluster.CA().Pool(), MinVersion: tls.VersionTLS12},
	}}
	return p
}

// install installs Plimsoll and a workload.
func (p *patient) install() {
	t := p.t
	t.Helper()
	if err := p.cluster.InstallDefinitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := func(*unstructured.Unstructured) (bool, error) { return true, nil }
	if err := p.cluster.DeployPlimsoll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	p.applyWorkload()
	p.kubectl("patch", "mutatingwebhookconfiguration", "vpa-webhook-config", "--type=json", "-p",
		`[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "`+
			base64.StdEncoding.EncodeToString(p.cluster.CA().CertPEM())+`"}]`)
	p.writeStatus("web", "plimsoll", 2)
}

func (p *patient) kubectl(args ...string) {
	p.t.Helper()
	if _, err := p.cluster.Kubectl(p.t.Context(), args...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) apply(manifests string) {
	p.t.Helper()
	if _, err := p.cluster.KubectlInput(p.t.Context(), manifests, "apply", "-f", "-"); err != nil {
		p.t.Fatal(err)
	}
}

// applyWorkload also makes the Lease, which was renewed before any clock here goes wrong.
func (p *patient) applyWorkload() {
	p.t.Helper()
	renewed := time.Now().Add(-5 * time.Minute).UTC().Format("2006-01-02T15:04:05.000000Z")
	p.apply(strings.ReplaceAll(workload, "RENEWED", renewed))
}

func (p *patient) remove(manifests string) {
	p.t.Helper()
	if _, err := p.cluster.KubectlInput(p.t.Context(), manifests, "delete", "-f", "-"); err != nil {
		p.t.Fatal(err)
	}
}

// writeStatus writes the status of an HPA as this controller would.
func (p *patient) writeStatus(name, manager string, replicas int) {
	p.t.Helper()
	p.kubectl("patch", "hpa", name, "-n", "default", "--subresource=status", "--field-manager="+manager, "--type=merge",
		"-p", fmt.Sprintf(`{"status": {"desiredReplicas": %d, "currentReplicas": %d, "conditions": [{"type": "AbleToScale",
			"status": "True", "reason": "R%d", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`,
			replicas, replicas, replicas))
}

// writeStatusLater writes it in a later second than the newest write: managedFields have whole seconds, and the order
// of two writes within one is unknown.
func (p *patient) writeStatusLater(name, manager string, replicas int) {
	p.t.Helper()
	now := time.Now()
	select {
	case <-time.After(now.Truncate(time.Second).Add(time.Second).Sub(now)):
	case <-p.t.Context().Done():
	}
	p.writeStatus(name, manager, replicas)
}

// actFlag makes Plimsoll act on HPAs whatever other controllers do.
const actFlag = "/spec/template/spec/containers/0/args/1"

// turnLoopOn makes kube-controller-manager act on HPAs, and configures Plimsoll to do so too.
func (p *patient) turnLoopOn() {
	p.t.Helper()
	p.kubectl("patch", "deployment", "plimsoll-controller", "-n", "plimsoll-system", "--type=json", "-p",
		`[{"op": "add", "path": "`+actFlag+`", "value": "--horizontal-pod-autoscalers=act"}]`)
	// Nothing makes endpoints in this cluster.
	err := p.cluster.RestartControllerManager(p.t.Context(), "--horizontal-pod-autoscaler-sync-period=2s",
		"--controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller")
	if err != nil {
		p.t.Fatal(err)
	}
}

// turnLoopOff undoes that.
func (p *patient) turnLoopOff() {
	p.t.Helper()
	if err := p.cluster.RestartControllerManager(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.kubectl("patch", "deployment", "plimsoll-controller", "-n", "plimsoll-system", "--type=json", "-p",
		`[{"op": "remove", "path": "`+actFlag+`"}]`)
	p.kubectl("delete", "hpa", "web", "-n", "default")
	p.applyWorkload()
	p.writeStatus("web", "plimsoll", 2)
}

// findings are the levels, checks and objects of everything that is not as it should be.
func (p *patient) findings(ctx context.Context) (found []string, printed string, err error) {
	config := p.cluster.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		p.way.next = next
		return p.way
	})
	return examine(ctx, config)
}

func examine(ctx context.Context, config *rest.Config) (found []string, printed string, err error) {
	known, err := read.Read(ctx, read.Config{REST: config, Timeout: 10 * time.Second,
		Program: doctor.Program{Namespace: "plimsoll-system", Lease: "plimsoll-controller"}})
	if err != nil {
		return nil, "", err
	}
	report := judge.Judge(known)
	for _, f := range report.Findings {
		if f.Level != doctor.OK {
			found = append(found, strings.TrimSpace(fmt.Sprint(f.Level, " ", f.Check, " ", f.Object)))
		}
	}
	slices.Sort(found)
	var text strings.Builder
	err = doctor.WriteText(&text, &report, doctor.Style{})
	return found, text.String(), err
}

// await examines the cluster until this is found, and nothing else.
func (p *patient) await(name string, want ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	var diff string
	for {
		found, printed, err := p.findings(ctx)
		if err == nil {
			diff = cmp.Diff(want, found) + printed
		}
		if err == nil && slices.Equal(want, found) {
			p.t.Logf("%s:\n%s", name, printed)
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("%s: %v (-want +found):\n%s", name, errors.Join(err, ctx.Err()), diff)
		case <-ticker.C:
		}
	}
}

// withoutRights examines the cluster as a user without permissions: then everything is unknown, and nothing is reported
// as wrong.
func (p *patient) withoutRights() {
	p.t.Helper()
	config := p.cluster.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody", Groups: []string{"system:authenticated"}}
	found, printed, err := examine(p.t.Context(), config)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(found) < 8 || !strings.Contains(printed, "you may not list") {
		p.t.Errorf("without rights:\n%s", printed)
	}
	for _, finding := range found {
		if !strings.HasPrefix(finding, doctor.Unknown.String()+" ") {
			p.t.Errorf("without rights: %s", finding)
		}
	}
}

// eachNode has a text for each node. The nodes agree with this machine, so that their clocks are named, too.
func eachNode(cluster *devcluster.Cluster, text string) []string {
	var all []string
	for _, name := range cluster.NodeNames() {
		all = append(all, text+name)
	}
	return all
}

// TestDoctor breaks a cluster in one way after the other, and mends it again.
func TestDoctor(t *testing.T) {
	p := newPatient(t)
	p.await("a new cluster, without HPAs and without Plimsoll")
	p.install()
	p.await("a good cluster")
	p.withoutRights()
	p.apply(deadWebhook)
	p.await("a webhook that is asked about no namespace")
	p.remove(deadWebhook)
	node, stale := p.cluster.NodeNames()[0], time.Now().Add(-5*time.Minute).UnixMilli()
	for _, broken := range []struct {
		name       string
		harm, mend func()
		want       []string
	}{
		{"stale kubelet",
			func() {
				p.cluster.Kubelets().Faults.SetNode(node, kubelet.NodeFault{
					Body: fmt.Appendf(nil, "node_cpu_usage_seconds_total 1 %d\n", stale)})
			},
			func() { p.cluster.Kubelets().Faults.Clear() },
			[]string{"problem kubelet-samples Node " + node}},
		{"right missing",
			func() {
				p.kubectl("patch", "clusterrole", "plimsoll-kubelet-reader", "--type=json", "-p",
					`[{"op": "replace", "path": "/rules/0/resources", "value": ["nodes/log"]}]`)
			},
			func() {
				p.kubectl("patch", "clusterrole", "plimsoll-kubelet-reader", "--type=json", "-p",
					`[{"op": "replace", "path": "/rules/0/resources", "value": ["nodes/metrics"]}]`)
			},
			[]string{"problem rights ServiceAccount plimsoll-system/plimsoll-kubelet-reader"}},
		{"CRD missing",
			func() { p.kubectl("delete", "customresourcedefinition", "autoscalercheckpoints.plimsoll.dev") },
			func() {
				if err := p.cluster.InstallDefinitions(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"problem definitions CustomResourceDefinition autoscalercheckpoints.plimsoll.dev"}},
		{"two autoscalers",
			func() { p.apply(secondAutoscaler) }, func() { p.remove(secondAutoscaler) },
			[]string{"problem targets Deployment default/web"}},
		{"webhook unreachable",
			func() { p.apply(labelled + "---" + deadWebhook) }, func() { p.remove(labelled + "---" + deadWebhook) },
			[]string{"problem webhooks MutatingWebhookConfiguration gone"}},
		{"clock off by a minute",
			func() { p.way.set(time.Minute, "") }, func() { p.way.set(0, "") },
			append([]string{"problem clock"}, eachNode(p.cluster, "problem clock Node ")...)},
		{"old Kubernetes",
			func() { p.way.set(0, "v1.27.3") }, func() { p.way.set(0, "") },
			[]string{"problem kubernetes-version"}},
		{"KEDA beside",
			func() {
				p.apply(kedaDefinition)
				p.kubectl("wait", "--for=condition=Established", "customresourcedefinition/scaledobjects.keda.sh")
				p.apply(scaledObject)
			},
			func() { p.remove(kedaDefinition) },
			[]string{"warning keda"}},
		{"both loops",
			func() {
				p.apply(another)
				p.writeStatus("web", "plimsoll", 4)
				p.writeStatus("web", "kube-controller-manager", 3)
				p.writeStatus("another", "plimsoll", 1)
			},
			func() {
				p.kubectl("delete", "hpa", "web", "another", "-n", "default")
				p.applyWorkload()
				p.writeStatus("web", "plimsoll", 2)
			},
			[]string{"problem hpa-loop"}},
		{"given back to kube-controller-manager",
			func() { p.writeStatusLater("web", "kube-controller-manager", 3) },
			func() {
				p.kubectl("delete", "hpa", "web", "-n", "default")
				p.applyWorkload()
				p.writeStatus("web", "plimsoll", 2)
			},
			[]string{"warning hpa-loop"}},
		{"both loops, as configured", func() { p.turnLoopOn() }, func() { p.turnLoopOff() },
			[]string{"problem hpa-loop"}},
		{"no metrics-server",
			func() {
				if err := p.cluster.StopMetricsServer(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			func() {
				err := p.cluster.RestartMetricsServer(t.Context(), devcluster.MetricsServerConfig{Resolution: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
			},
			[]string{"problem metrics-api APIService v1beta1.metrics.k8s.io"}},
	} {
		broken.harm()
		p.await(broken.name, broken.want...)
		broken.mend()
		p.await("mended: " + broken.name)
	}
}

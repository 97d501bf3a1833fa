package read

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

const forbidden = `{"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}`

// oneHangs is an API server that never answers about usage, and forbids lists of APIServices.
func oneHangs(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/version":
		_, _ = io.WriteString(w, `{"gitVersion": "v1.37.1"}`)
	case "/apis/metrics.k8s.io/v1beta1/pods":
		<-r.Context().Done()
	case "/apis/apiregistration.k8s.io/v1/apiservices":
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, forbidden)
	case "/api/v1/nodes":
		if r.URL.Query().Get("continue") == "" {
			_, _ = io.WriteString(w, `{"metadata": {"continue": "b"}, "items": [{"metadata": {"name": "a"}}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"items": [{"metadata": {"name": "b"}}]}`)
	default:
		http.NotFound(w, r)
	}
}

// TestOneHangs: what does not answer is unread, and what is forbidden is named with its right. The rest is read.
func TestOneHangs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(oneHangs))
	defer server.Close()
	read, err := Read(t.Context(), Config{REST: &rest.Config{Host: server.URL}, Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if read.Server.Value.Version != "v1.37.1" || !read.Server.Value.HasClock ||
		read.Server.Value.Ahead.Abs() > read.Server.Value.Uncertainty {
		t.Errorf("%+v", read.Server)
	}
	if read.Samples.Unread == nil || read.Samples.Unread.Right != "" {
		t.Errorf("%+v", read.Samples)
	}
	if unread := read.APIServices.Unread; unread == nil || unread.Right != "list apiservices.apiregistration.k8s.io" {
		t.Errorf("%+v", read.APIServices)
	}
	if len(read.Nodes.Value) != 2 || read.Nodes.Unread != nil {
		t.Errorf("%+v", read.Nodes)
	}
	if read.ScaledObjects.Value.IsServed || read.ScaledObjects.Unread != nil {
		t.Errorf("%+v", read.ScaledObjects)
	}
}

// TestNobodyAnswers: then nothing is examined.
func TestNobodyAnswers(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if read, err := Read(t.Context(), Config{REST: &rest.Config{Host: server.URL}, Timeout: time.Minute}); err == nil {
		t.Errorf("%+v", read)
	}
}

// TestNothingCanBeRead: credentials that are not accepted, and a server that is no API server, are errors.
func TestNothingCanBeRead(t *testing.T) {
	for code, want := range map[int]string{
		http.StatusUnauthorized: "does not accept your credentials", http.StatusNotFound: "there is no API server of Kubernetes",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(server.Close)
		read, err := Read(t.Context(), Config{REST: &rest.Config{Host: server.URL}, Timeout: time.Minute})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %+v, %v", code, read, err)
		}
	}
}

// TestSelecting: a webhook that is asked about no namespace that there is, or about connections alone, is in nobody's
// way.
func TestSelecting(t *testing.T) {
	isForbidden := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/namespaces":
			if isForbidden {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, forbidden)
				return
			}
			_, _ = io.WriteString(w, `{"items": [{"metadata": {"name": "a", "labels": {"mesh": "on"}}}]}`)
		case "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations":
			_, _ = io.WriteString(w, `{"items": [{"metadata": {"name": "c"}, "webhooks": [
				{"name": "on", "namespaceSelector": {"matchLabels": {"mesh": "on"}}, "rules": [`+createPods+`]},
				{"name": "off", "namespaceSelector": {"matchLabels": {"mesh": "off"}}, "rules": [`+createPods+`]},
				{"name": "all", "rules": [`+createPods+`]},
				{"name": "exec", "rules": [{"apiGroups": ["*"], "resources": ["*"], "operations": ["CONNECT"]}]}]}]}`)
		default:
			_, _ = io.WriteString(w, `{"items": []}`)
		}
	}))
	defer server.Close()
	for _, want := range [][]string{{"on", "all"}, {"on", "off", "all"}} {
		api, err := newAPI(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{api: api, timeout: time.Minute, facts: &doctor.Facts{}}
		r.webhooks(t.Context())
		var got []string
		for i := range r.facts.Webhooks.Value {
			got = append(got, r.facts.Webhooks.Value[i].Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("namespaces may be listed: %v (-want +got):\n%s", !isForbidden, diff)
		}
		isForbidden = true
	}
}

// TestOddStatus: a status with a time that nothing can decode hides neither its object nor the others of the list.
func TestOddStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items": [
			{"metadata": {"namespace": "a", "name": "odd"}, "status": {"conditions": [{"type": "ReplicasOverridden",
				"status": "True", "message": "by argocd", "lastTransitionTime": "2026-11-28t00:00:00z"},
				{"type": "ConfigIneffective", "status": "True", "message": "no pod has such a container"}]}},
			{"metadata": {"namespace": "b", "name": "good"}}]}`)
	}))
	defer server.Close()
	api, err := newAPI(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{api: api, timeout: time.Minute, facts: &doctor.Facts{}}
	r.autoscalers(t.Context())
	for name, read := range map[string]doctor.Reading[[]doctor.Autoscaler]{"WLAs": r.facts.WLAs, "VPAs": r.facts.VPAs} {
		if read.Unread != nil || len(read.Value) != 2 || !read.Value[0].HasStatus {
			t.Errorf("%s: %+v, %+v", name, read.Unread, read.Value)
		}
	}
	if got := r.facts.WLAs.Value[0].Overridden; got != "by argocd" {
		t.Errorf("overridden %q", got)
	}
	if got := r.facts.VPAs.Value[0].Ineffective; got != "no pod has such a container" {
		t.Errorf("ineffective %q", got)
	}
}

const createPods = `{"apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"]}`

// TestManySamples: metrics-server answers with the samples of all pods at once.
func TestManySamples(t *testing.T) {
	const pods = 100_000
	labels := map[string]string{}
	for i := range 10 {
		labels[fmt.Sprintf("app.kubernetes.io/label-%d", i)] = strings.Repeat("v", 20)
	}
	item, err := json.Marshal(map[string]any{
		"metadata":  map[string]any{"namespace": "shop", "name": "web-5679f5dc86-gxp2z", "labels": labels},
		"timestamp": "2026-11-24T12:00:00Z", "window": "15s", "containers": []map[string]any{
			{"name": "web", "usage": map[string]string{"cpu": "251234567n", "memory": "123456Ki"}},
			{"name": "proxy", "usage": map[string]string{"cpu": "51234567n", "memory": "23456Ki"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"items": [%s`, item)
		for range pods - 1 {
			_, _ = fmt.Fprintf(w, ",%s", item)
		}
		_, _ = io.WriteString(w, "]}")
	}))
	defer server.Close()
	api, err := newAPI(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{api: api, timeout: time.Minute, facts: &doctor.Facts{}}
	r.samples(t.Context())
	if got := r.facts.Samples; got.Unread != nil || got.Value.Pods != pods {
		t.Errorf("%d pods, %+v", got.Value.Pods, got.Unread)
	}
}

// TestSamplesOfEitherVersion: samples are those of the newest version of metrics.k8s.io that is served.
func TestSamplesOfEitherVersion(t *testing.T) {
	for _, served := range [][]string{{"v1"}, {"v1beta1"}, {"v1", "v1beta1"}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			version, resource, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/apis/metrics.k8s.io/"), "/")
			switch {
			case !slices.Contains(served, version):
				http.NotFound(w, r)
			case resource == "nodes":
				_, _ = io.WriteString(w, `{"items": [{"metadata": {"name": "a"}}]}`)
			default:
				_, _ = io.WriteString(w, `{"items": []}`)
			}
		}))
		api, err := newAPI(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{api: api, timeout: time.Minute, facts: &doctor.Facts{}}
		r.samples(t.Context())
		server.Close()
		if got := r.facts.Samples; got.Unread != nil || got.Value.Version != served[0] || got.Value.Nodes != 1 {
			t.Errorf("%v are served: %+v", served, got)
		}
	}
}

// TestGrants: each account of config/ has rights, and the names of the installation replace those of config/.
func TestGrants(t *testing.T) {
	all, err := manifests()
	if err != nil {
		t.Fatal(err)
	}
	deployed := func(name, account string, component doctor.Component, args ...string) doctor.Deployment {
		return doctor.Deployment{Object: doctor.Object{Namespace: "autoscaling", Name: name}, Account: account,
			Component: component, Args: args}
	}
	controller := deployed("c", "robot", doctor.Controller,
		"--kubelet-service-account=$(POD_NAMESPACE)/nobody", "--components=horizontal")
	r := &reader{facts: &doctor.Facts{Program: doctor.Program{Lease: "leader"}}}
	for name, tt := range map[string]struct {
		deployments []doctor.Deployment
		want        []string
	}{
		"nothing installed": {nil, nil},
		"horizontal":        {[]doctor.Deployment{controller}, []string{"autoscaling/nobody", "autoscaling/robot"}},
		"names that are none": {[]doctor.Deployment{deployed("c", "robot", doctor.Controller,
			"--kubelet-service-account=kube-system/x; id", "--leader-elect-resource-name=x'; id; '", "--components=horizontal")},
			[]string{"autoscaling/plimsoll-kubelet-reader", "autoscaling/robot"}},
		"both": {[]doctor.Deployment{deployed("c", "robot", doctor.Controller),
			deployed("a", "gate", doctor.AdmissionController)}, []string{
			"autoscaling/gate", "autoscaling/plimsoll-kubelet-reader", "autoscaling/robot"}},
	} {
		r.facts.Deployments.Value = tt.deployments
		needed, err := r.needed(all)
		if err != nil {
			t.Fatal(err)
		}
		accounts := map[string]bool{}
		isResized, isLed := false, false
		for _, right := range needed {
			accounts[right.Account] = true
			isResized = isResized || right.Resource == "pods/resize"
			isLed = isLed || right.Resource == "leases" && right.Name == "leader" && right.Namespace == "autoscaling"
			if right.Namespace == shippedNamespace {
				t.Errorf("%s: %+v", name, right)
			}
		}
		if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(accounts))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if isResized != (name == "both") || isLed != (tt.want != nil) {
			t.Errorf("%s: resizes: %v, leads: %v", name, isResized, isLed)
		}
	}
}

// TestIsHPALoopOn reads the flag as kube-controller-manager does.
func TestIsHPALoopOn(t *testing.T) {
	for flag, want := range map[string]bool{
		"--v=2": true, "--controllers=*": true, "--controllers=*,bootstrapsigner,tokencleaner": true,
		"--controllers=*,-horizontal-pod-autoscaler-controller": false, "--controllers=*,-horizontalpodautoscaling": false,
		"--controllers=deployment-controller": false, "--controllers=horizontal-pod-autoscaler-controller": true,
	} {
		if got := isHPALoopOn([]string{"kube-controller-manager", flag}); got != want {
			t.Errorf("%s: %v", flag, got)
		}
	}
}

// TestSampled: the nodes that are read are spread over all.
func TestSampled(t *testing.T) {
	names := make([]string, 100)
	for i := range names {
		names[i] = string(rune('a' + i/10))
	}
	if got := sampled(names, 10); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}) {
		t.Errorf("%q", got)
	}
}

// TestReleaseOf: nothing gets into a command to paste that Helm and Kubernetes would not take as a name.
func TestReleaseOf(t *testing.T) {
	const name, namespace = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
	for text, want := range map[string]doctor.Release{
		"plimsoll": {Namespace: "scaling", Name: "plimsoll"},
		"":         {}, "-f": {}, "a; rm -rf /": {}, "$(id)": {}, "a\nb": {}, "Upper": {},
	} {
		if got := releaseOf(map[string]string{name: text, namespace: "scaling"}); got != want {
			t.Errorf("release %q: %+v", text, got)
		}
	}
	if got := releaseOf(map[string]string{name: "plimsoll", namespace: "a b"}); got != (doctor.Release{}) {
		t.Errorf("a namespace with a blank: %+v", got)
	}
}

// TestAgents: which nodes can have an agent, and where the kubelet has its cgroups.
func TestAgents(t *testing.T) {
	for text, want := range map[string]doctor.Node{
		`{"metadata": {"name": "a", "labels": {"kubernetes.io/os": "linux"}}}`:     {},
		`{"metadata": {"name": "a"}, "spec": {"providerID": "kind://docker/a/b"}}`: {CgroupRoot: "/kubelet"},
		`{"metadata": {"name": "a", "labels": {"kubernetes.io/os": "windows"}}}`:   {NoAgent: "it runs Windows"},
		`{"metadata": {"name": "a", "labels": {"type": "virtual-kubelet"}}}`: {
			NoAgent: "a virtual node runs no DaemonSet"},
		`{"metadata": {"name": "a", "labels": {"node.openshift.io/os_id": "rhcos"}}}`: {IsOpenShift: true, NoAgent: "OpenShift " +
			"permits a mount of /sys/fs/cgroup to accounts with a SecurityContextConstraints for it alone"},
		`{"metadata": {"name": "gk3-web-1"}}`: {NoAgent: "GKE Autopilot permits no pod to mount /sys/fs/cgroup"},
	} {
		var n corev1.Node
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		if got := nodeFacts(&n); got.NoAgent != want.NoAgent || got.CgroupRoot != want.CgroupRoot ||
			got.IsOpenShift != want.IsOpenShift {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

//go:build node

package recorded

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/node/setup"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// requestTime is the processor time of a request.
const requestTime = 10 * time.Millisecond

// phases are the loads of the run, in millicores of all pods together. A pod is at its target with 55.
var phases = []struct {
	milli int
	lasts time.Duration
}{{100, 50 * time.Second}, {400, 90 * time.Second}, {180, 90 * time.Second}}

// TestRecord runs a Deployment under load on a real node, with a kubelet at its defaults, and records what that answers
// and what Plimsoll decides. The decisions must follow from the samples alone.
func TestRecord(t *testing.T) {
	r := record(t)
	if len(r.samples) == 0 {
		t.Fatal("no samples")
	}
	lines := r.replay(t)
	if !*update {
		return
	}
	if err := r.write(lines); err != nil {
		t.Fatal(err)
	}
}

func record(t *testing.T) *run {
	t.Helper()
	cluster, node := start(t)
	s := harness.NewNamespace(t, cluster)
	p := &proxy{namespace: s.Name}
	port := p.serve(t, cluster, node)
	plimsoll, err := harness.NewPlimsoll(t.Context(), cluster)
	if err == nil {
		err = plimsoll.Start(t.Context(), "--resource-metrics-source=kubelet", "--horizontal-pod-autoscaler-sync-period=15s",
			"--kubelet-use-node-status-port=false", "--kubelet-port="+port)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plimsoll.Stop(context.WithoutCancel(t.Context())) })
	deployment := harness.Workload{Replicas: ptr.To[int32](2), Containers: []corev1.Container{
		container("app", "100m", "-listen=:8080"), container("sidecar", "10m"),
	}}.Deployment()
	hpa := harness.Autoscaler("web", harness.Resource(corev1.ResourceCPU, harness.Utilization(50)))
	hpa.Spec.MaxReplicas, hpa.Spec.Behavior = 8, harness.DownAtOnce()
	s.Create(deployment, hpa)
	counts := s.WatchCounts("web")

	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	r := &run{}
	watching.Go(func() {
		r.snapshots = snapshots(ctx, "http://"+plimsoll.Inspection()+"/horizontalpodautoscalers/"+s.Name+"/web/snapshot")
	})
	for _, phase := range phases {
		load(t, s, phase.milli, phase.lasts)
	}
	stop()
	watching.Wait()
	t.Logf("counts: %s", counts)
	r.samples = p.recorded()
	compareLogged(t, r.snapshots, s.Decisions("web"))
	return r
}

// start builds up a control plane and a node, which end with the test.
func start(t *testing.T) (*devcluster.Cluster, *realnode.Node) {
	t.Helper()
	if err := realnode.Check(); err != nil {
		t.Fatal(err)
	}
	bin, err := setup.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := devcluster.Start(t.Context(), devcluster.Config{
		BinDir: bin, ControlPlaneOnly: true, Scheduler: true, Log: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	node, err := realnode.Start(t.Context(), realnode.Config{Cluster: cluster, BinDir: bin, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := setup.ImportLoad(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return cluster, node
}

func container(name, cpu string, args ...string) corev1.Container {
	c := harness.Container(name, cpu, "16Mi")
	c.Image, c.ImagePullPolicy, c.Args = setup.LoadImage, corev1.PullNever, args
	return c
}

// load sends requests to the ready pods in turn, so many that they use so much together.
func load(t *testing.T, s *harness.Namespace, milli int, lasts time.Duration) {
	t.Helper()
	client := &http.Client{Timeout: 2 * time.Second}
	ticker := time.NewTicker(requestTime * 1000 / time.Duration(milli))
	defer ticker.Stop()
	var requests sync.WaitGroup
	defer requests.Wait()
	var pods []string
	var listed time.Time
	for n, began := 0, time.Now(); time.Since(began) < lasts; n++ {
		if time.Since(listed) > time.Second {
			pods, listed = readyPods(t, s), time.Now()
		}
		<-ticker.C
		if len(pods) == 0 {
			continue
		}
		address := "http://" + net.JoinHostPort(pods[n%len(pods)], "8080") + "/?" + requestTime.String()
		requests.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			// A pod may be gone: the request is lost then, as with any load balancer before it is updated.
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
			}
		})
	}
}

func readyPods(t *testing.T, s *harness.Namespace) (addresses []string) {
	t.Helper()
	list, err := s.Client.CoreV1().Pods(s.Name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				addresses = append(addresses, pod.Status.PodIP)
			}
		}
	}
	return addresses
}

// snapshots returns those of all decisions until ctx ends: the response to each request is the next one.
func snapshots(ctx context.Context, address string) (all []*snapshothorizontal.Step) {
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return all
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			continue
		}
		step, err := snapshothorizontal.NewReader(response.Body).Next()
		if _ = response.Body.Close(); err == nil && len(step.PodMetrics) > 0 {
			all = append(all, step)
		}
	}
	return all
}

// compareLogged compares each snapshot with the decision in the log: its line is the first after the snapshot's time.
func compareLogged(t *testing.T, steps []*snapshothorizontal.Step, logged []harness.Decision) {
	t.Helper()
	next := 0
	for _, step := range steps {
		for next < len(logged) && logged[next].At.Before(step.Snapshot.Time.Truncate(time.Millisecond)) {
			next++
		}
		if next == len(logged) {
			t.Fatalf("the log has no line of the decision at %s", step.Snapshot.Time)
		}
		result, _, err := explainhorizontal.Evaluate(step, horizontal.State{}, divergence.Default)
		if err != nil {
			t.Fatal(err)
		}
		if d, line := &result.Decision, &logged[next]; d.Current != line.Current || d.Desired != line.Desired {
			t.Errorf("at %s from %d to %d replicas, the log says from %d to %d", step.Snapshot.Time, d.Current, d.Desired,
				line.Current, line.Desired)
		}
	}
}

// proxy stands before the kubelet and keeps what is new in its answers.
type proxy struct {
	namespace string

	mu sync.Mutex
	// guarded by mu
	samples []sample
	last    map[containerName]time.Time
}

// serve serves at the node's address until the test ends, and returns the port.
func (p *proxy) serve(t *testing.T, cluster *devcluster.Cluster, node *realnode.Node) (port string) {
	t.Helper()
	behind, err := url.Parse(node.KubeletURL())
	if err != nil {
		t.Fatal(err)
	}
	// Clients show a token of their own: only the kubelet's certificate is checked here.
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(cluster.RESTConfig()))
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := cluster.ServingFiles("recorder", node.Name(), node.Address())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(node.Address(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(behind)
			r.Out.Header.Set("Accept-Encoding", "identity")
		},
		Transport: transport, ModifyResponse: p.keep,
	}}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(listener, certificate, key) }() // closed at the end
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// keep takes the samples out of an answer before that is passed on.
func (p *proxy) keep(response *http.Response) error {
	if response.StatusCode != http.StatusOK || !strings.HasSuffix(response.Request.URL.Path, "/metrics/resource") {
		return nil
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	_ = response.Body.Close() // all of it is read
	response.Body = io.NopCloser(bytes.NewReader(text))
	answered, err := realnode.ParseSamples(bytes.NewReader(text))
	if err != nil {
		return err
	}
	p.add(answered)
	return nil
}

func (p *proxy) add(answered []realnode.Sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[containerName]time.Time{}
	}
	now := time.Now()
	for _, a := range answered {
		name := containerName{a.Pod, a.Container}
		if a.Namespace != p.namespace || p.last[name].Equal(a.At) {
			continue
		}
		p.last[name] = a.At
		p.samples = append(p.samples, sample{
			containerName: name, arrived: now, at: a.At, cpuSeconds: a.CPUSeconds, memoryBytes: a.WorkingSetBytes,
		})
	}
}

func (p *proxy) recorded() []sample {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.samples
}

// write writes all files.
func (r *run) write(decisions []byte) error {
	var rows, packed bytes.Buffer
	lines := [][]string{head}
	for i := range r.samples {
		s := &r.samples[i]
		lines = append(lines, []string{
			s.arrived.UTC().Format(time.RFC3339Nano), s.pod, s.container, s.at.UTC().Format(time.RFC3339Nano),
			strconv.FormatFloat(s.cpuSeconds, 'f', -1, 64), strconv.FormatFloat(s.memoryBytes, 'f', -1, 64),
		})
	}
	if err := csv.NewWriter(&rows).WriteAll(lines); err != nil {
		return err
	}
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	for _, step := range r.snapshots {
		if err := snapshothorizontal.Encode(zipped, step); err != nil {
			return err
		}
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(samplesFile, rows.Bytes(), 0o600), os.WriteFile(snapshotsFile, packed.Bytes(), 0o600),
		os.WriteFile(decisionsFile, decisions, 0o600))
}

//go:build node

package node

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// Words of the controller's log.
const (
	fromAgent   = "resource metrics of a node come from its agent"
	fromKubelet = "resource metrics of a node come from its kubelet"
)

// samples has the origins of samples in explain's output.
type samples struct {
	AgentPods    int `json:"agentPods"`
	KubeletPods  int `json:"kubeletPods"`
	SilentAgents []struct {
		Node    string `json:"node"`
		Message string `json:"message"`
	} `json:"silentAgents"`
}

// explained returns the origins of the samples of the HPA web in explain's output, and the CPU of its pods on average.
func (s *space) explained(ctx context.Context, kubeconfig string) (from samples, averageMilli int64, err error) {
	out, err := s.explain(ctx, kubeconfig, "hpa/web", "-o", "json")
	if err != nil {
		return from, 0, fmt.Errorf("%w: %s", err, out)
	}
	var answer struct {
		KnowsHistory bool   `json:"knowsHistory"`
		NoHistory    string `json:"noHistory"`
		Trace        struct {
			Samples *samples `json:"samples"`
			Metrics []struct {
				ValueMilli *int64 `json:"valueMilli"`
			} `json:"metrics"`
		} `json:"trace"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return from, 0, fmt.Errorf("%w: %s", err, out)
	}
	t := &answer.Trace
	if t.Samples == nil || len(t.Metrics) != 1 || t.Metrics[0].ValueMilli == nil {
		return from, 0, fmt.Errorf("no samples: %s", out)
	}
	return *t.Samples, *t.Metrics[0].ValueMilli, nil
}

// fromAgents waits until all of these pods have samples from the agent, with the use of their load.
func (s *space) fromAgents(kubeconfig string, pods int) {
	s.t.Helper()
	s.eventually(patience, fmt.Sprintf("%d pods known from the agent", pods), func(ctx context.Context) error {
		from, milli, err := s.explained(ctx, kubeconfig)
		// The processors are shared with all that the tests do; what it burns beyond its share is a scheduler's slice.
		if err == nil && (from.AgentPods != pods || from.KubeletPods != 0 || milli < 20 || milli > 400) {
			err = fmt.Errorf("%+v, %dm on average", from, milli)
		}
		return err
	})
}

// TestNodeAgent: the agent as config/node-agent installs it has the samples of pods that are scaled: of a container
// that restarts, whose counters begin at 0 again, of the pod that replaces a deleted one, and beside cgroups whose
// names no runtime makes. When it is killed, the kubelet's samples are used within 3 s. Only the controller gets a
// response.
func TestNodeAgent(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.deploy(workload{
		name: "web", replicas: 1, args: []string{"-cpu-milli=100"},
		requests: map[corev1.ResourceName]string{"cpu": "200m", "memory": "16Mi"},
	})
	s.kubectl("autoscale", "deployment/web", "--cpu=80%", "--min=1", "--max=2")
	kubeconfig := s.person("anyone", nil)
	s.fromAgents(kubeconfig, 1)

	t.Run("ContainerRestarts", func(t *testing.T) {
		s := s.in(t)
		pod := s.running("web")
		before := pod.Status.ContainerStatuses[0].ContainerID
		kill(t, cgroupOf(t, pod))
		s.eventually(patience, "another container", func(ctx context.Context) error {
			pods, err := s.pods(ctx, "web")
			if err == nil && (len(pods) != 1 || pods[0].Status.ContainerStatuses[0].ContainerID == before) {
				err = errors.New("not yet")
			}
			return err
		})
		s.running("web")
		s.fromAgents(kubeconfig, 1)
	})
	t.Run("PodGoes", func(t *testing.T) {
		s := s.in(t)
		before := s.running("web")
		s.kubectl("delete", "pod", before.Name)
		if after := s.running("web"); after.UID == before.UID {
			t.Fatal("the pod did not go")
		}
		s.fromAgents(kubeconfig, 1)
	})
	t.Run("HostileNames", func(t *testing.T) { s.in(t).hostileNames(kubeconfig) })
	t.Run("Refused", func(t *testing.T) { refused(t, agentPod(t)) })
	t.Run("WorkingSet", func(t *testing.T) {
		bytes := workingSet(t, cgroupOf(t, agentPod(t)))
		t.Logf("the agent's working set is %.1f MiB", float64(bytes)/(1<<20))
		if bytes > 20<<20 {
			t.Error("more than 20 MiB")
		}
	})
	t.Run("AgentKilled", func(t *testing.T) { s.in(t).agentKilled(kubeconfig) })
}

// hostileNames makes cgroups beside the pod's, which mislead programs that list directories or trust names.
func (s *space) hostileNames(kubeconfig string) {
	s.t.Helper()
	pod := s.running("web")
	scope := cgroupOf(s.t, pod)
	for _, name := range []string{
		// The kernel refuses line feeds, and nothing else.
		"a\"} 1e99 container_cpu_usage_seconds_total{container=\"app\",namespace=\"x\",pod=\"y", "crio-..", " ", "\r\t\x1b[2J",
		strings.Repeat("f", 64), strings.Repeat("x", 255),
	} {
		for _, controller := range []string{"cpuacct", "memory", "cpu"} {
			path := filepath.Join("/sys/fs/cgroup", controller, filepath.Dir(scope), name)
			if err := os.Mkdir(path, 0o755); err != nil {
				s.t.Fatal(err)
			}
			s.t.Cleanup(func() {
				if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
					s.t.Error(err)
				}
			})
		}
	}
	s.fromAgents(kubeconfig, 1)
	// An authenticated client still gets nothing but containers.
	client, at := s.knownClient(), agentPod(s.t)
	for _, id := range []string{"..", "../..", "a/b", strings.Repeat("x", 200), ""} {
		wanted := selection.Encode([]selection.Container{
			{PodUID: string(pod.UID), ID: id, Namespace: s.namespace, Pod: pod.Name, Name: "app"},
		})
		if code, text := post(s.t, client, at, wanted); code != http.StatusBadRequest {
			s.t.Errorf("the ID %q: %d %s", id, code, text)
		}
	}
	id := strings.TrimPrefix(pod.Status.ContainerStatuses[0].ContainerID, "containerd://")
	wanted := selection.Encode([]selection.Container{
		{PodUID: string(pod.UID), ID: id, Namespace: s.namespace, Pod: pod.Name, Name: "app"},
	})
	code, text := post(s.t, client, at, wanted)
	if n := strings.Count(text, "container_cpu_usage_seconds_total{"); code != http.StatusOK || n != 1 {
		s.t.Errorf("the pod's container: %d, %d values of CPU\n%s", code, n, text)
	}
}

// agentKilled kills the agent's process: the kubelet's samples are used within 3 s, and explain has the reason. It
// restarts with another key, and the agent's samples are used again.
func (s *space) agentKilled(kubeconfig string) {
	s.t.Helper()
	began := time.Now()
	kill(s.t, cgroupOf(s.t, agentPod(s.t)))
	ended := s.awaitLine(fromKubelet, began)
	took := ended.Sub(began)
	s.t.Logf("the kubelet's samples are used %s after the agent was killed", took.Round(10*time.Millisecond))
	if took > 3*time.Second {
		s.t.Errorf("that is more than 3 s")
	}
	s.eventually(patience, "the agent named", func(ctx context.Context) error {
		from, _, err := s.explained(ctx, kubeconfig)
		if err == nil && from.AgentPods == 0 &&
			(from.KubeletPods != 1 || len(from.SilentAgents) != 1 || from.SilentAgents[0].Message == "") {
			err = fmt.Errorf("%+v", from)
		}
		return err
	})
	again := s.awaitLine(fromAgent, ended)
	s.t.Logf("the agent's are used again %s after that", again.Sub(began).Round(10*time.Millisecond))
	s.fromAgents(kubeconfig, 1)
}

// awaitLine returns when the controller first logged the words after a time.
func (s *space) awaitLine(words string, after time.Time) (at time.Time) {
	s.t.Helper()
	s.eventually(patience, words, func(ctx context.Context) error {
		text, err := stage.cluster.Kubectl(ctx, "-n", own, "logs", "-l", "app.kubernetes.io/name="+controller, "--timestamps",
			"--tail=-1", "--since-time="+after.UTC().Format(time.RFC3339))
		if err != nil {
			return err
		}
		at = time.Time{}
		for line := range strings.Lines(text) {
			stamp, rest, _ := strings.Cut(line, " ")
			logged, err := time.Parse(time.RFC3339Nano, stamp)
			if err == nil && strings.Contains(rest, words) && logged.After(after) && (at.IsZero() || logged.Before(at)) {
				at = logged
			}
		}
		if at.IsZero() {
			return errors.New("not logged yet")
		}
		return nil
	})
	return at
}

// agentPod is the one of the DaemonSet.
func agentPod(t *testing.T) *corev1.Pod {
	t.Helper()
	found, err := stage.cluster.Client().CoreV1().Pods(agents).List(t.Context(),
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + agents})
	if err != nil || len(found.Items) != 1 {
		t.Fatalf("%d pods of agents: %v", len(found.Items), err)
	}
	return &found.Items[0]
}

// cgroupOf is the path of the pod's only container in each hierarchy: this machine has version 1, and the node the
// driver cgroupfs.
func cgroupOf(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	quality := strings.ToLower(string(pod.Status.QOSClass))
	id := strings.TrimPrefix(pod.Status.ContainerStatuses[0].ContainerID, "containerd://")
	return filepath.Join(realnode.CgroupRoot, "kubepods", quality, "pod"+string(pod.UID), id)
}

// kill kills the processes of a container.
func kill(t *testing.T, scope string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup/memory", scope, "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// workingSet is the kubelet's value for a container.
func workingSet(t *testing.T, scope string) int64 {
	t.Helper()
	directory := filepath.Join("/sys/fs/cgroup/memory", scope)
	text, err := os.ReadFile(filepath.Join(directory, "memory.usage_in_bytes"))
	if err != nil {
		t.Fatal(err)
	}
	usage, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(filepath.Join(directory, "memory.stat")); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if inactive, found := strings.CutPrefix(lines.Text(), "total_inactive_file "); found {
			n, err := strconv.ParseInt(inactive, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return usage - n
		}
	}
	t.Fatal("no total_inactive_file")
	return 0
}

func agentURL(pod *corev1.Pod, path string) string {
	return (&url.URL{Scheme: "https", Host: net.JoinHostPort(pod.Status.PodIP, "8443"), Path: path}).String()
}

// refused tries all clients other than the controller: without a certificate, with one that the cluster's authority or
// none signed, and with a token that any kubelet would accept.
func refused(t *testing.T, pod *corev1.Pod) {
	stranger, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	kubeletFile, keyFile, err := stage.cluster.ServingFiles("stranger", "plimsoll-controller")
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := tls.LoadX509KeyPair(kubeletFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string][]tls.Certificate{
		"no certificate": nil, "a certificate that nobody signed": {*stranger},
		"a certificate of the cluster's authority": {clusters},
	} {
		for _, path := range []string{selection.UsagePath, selection.ContentionPath, selection.TokenPath, "/"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, agentURL(pod, path), nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+stage.cluster.RESTConfig().BearerToken)
			response, err := clientWith(shown...).Do(request)
			if err == nil {
				_ = response.Body.Close()
				t.Errorf("%s: %s was answered: %s", name, path, response.Status)
			}
		}
	}
	text, err := stage.cluster.Kubectl(t.Context(), "-n", agents, "auth", "can-i", "--list",
		"--as=system:serviceaccount:"+agents+":"+agents)
	if err != nil || strings.Contains(text, "secrets") || strings.Contains(text, "pods") || strings.Contains(text, "nodes") {
		t.Errorf("what an agent may do: %v\n%s", err, text)
	}
}

func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "plimsoll-controller"}, SerialNumber: big.NewInt(1),
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// clientWith shows a certificate to any server, and trusts any server.
func clientWith(shown ...tls.Certificate) *http.Client {
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}
	if len(shown) > 0 {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown[0], nil }
	}
	return &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
}

// knownClient shows the controller's certificate, which who may read its Secret can do.
func (s *space) knownClient() *http.Client {
	s.t.Helper()
	secret, err := stage.cluster.Client().CoreV1().Secrets(own).Get(s.t.Context(), "plimsoll-node-agent-authority",
		metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		for key, value := range secret.Data {
			block, _ := pem.Decode(value)
			s.t.Logf("%s: %d bytes, in PEM %t", key, len(value), block != nil)
		}
		s.t.Fatal(err)
	}
	return clientWith(certificate)
}

func post(t *testing.T, client *http.Client, to *corev1.Pod, wanted []byte) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, agentURL(to, selection.UsagePath),
		bytes.NewReader(wanted))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

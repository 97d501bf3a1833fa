package agents

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/agenttest"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

const memoryBytes = 5 << 20

// usedSeconds differs from pod to pod, and grows by a second each second.
func usedSeconds(place population.Place, at time.Time) float64 {
	return float64(1000*place.Object+100*place.Pod) + at.Sub(time.Unix(1_790_000_000, 0)).Seconds()
}

// counted are the answers that were given, by node.
type counted struct {
	mu     sync.Mutex
	byNode map[int]int
}

func (c *counted) given(node int, _ time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byNode[node]++
}

func uid(place population.Place) string { return fmt.Sprintf("uid-%d-%d", place.Object, place.Pod) }
func id(place population.Place) string  { return fmt.Sprintf("%032x", place.Object<<8|place.Pod) }

// clientOf has the pods of a population, and an authority that a controller has published.
func clientOf(size population.Size, authority *agenttest.Authority) *fake.Clientset {
	objects := []runtime.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: authorityMap},
		Data:       map[string]string{authorityKey: string(authority.PEM())},
	}}
	for object := range size.Objects {
		for n := range size.PodsPer {
			place := population.Place{Object: object, Pod: n}
			objects = append(objects, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: size.NamespaceOf(object), Name: population.PodName(object, n), UID: types.UID(uid(place)),
				},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
					Name: population.Container, ContainerID: "containerd://" + id(place),
				}}},
			})
		}
	}
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "serviceaccounts",
		func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: "a-token"}}, nil
		})
	return client
}

// startAgents serves until the test ends, and checks that nothing is left then.
func startAgents(t *testing.T, config Config) *Agents {
	t.Helper()
	a, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(a.directory); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder remains: %v", err)
		}
	})
	return a
}

// TestAgents: each node's agent answers those who have a certificate with what the pods on the node use by now.
func TestAgents(t *testing.T) {
	size, err := population.Size{Objects: 4, PodsPer: 3, PodsPerNode: 6}.Completed()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := agenttest.New()
	if err != nil {
		t.Fatal(err)
	}
	answers, client := &counted{byNode: map[int]int{}}, clientOf(size, authority)
	a := startAgents(t, Config{
		Client: client, Size: size, UsedSeconds: usedSeconds, MemoryBytes: memoryBytes, Given: answers.given,
	})
	if err := a.LearnAuthority(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown, err := authority.Issue("controller", x509.ExtKeyUsageClientAuth)
	if err != nil {
		t.Fatal(err)
	}
	for node := range size.Nodes() {
		pod, err := client.CoreV1().Pods(Namespace).Get(t.Context(), "plimsoll-node-agent-"+population.NodeName(node),
			metav1.GetOptions{})
		if err != nil || pod.Status.PodIP != addressOf(node) || pod.Spec.NodeName != population.NodeName(node) {
			t.Fatalf("node %d: %v, %v", node, pod, err)
		}
		before := time.Now()
		text, err := request(t.Context(), a.where(node), shown, selectionOf(size, node))
		if err != nil {
			t.Fatal(err)
		}
		wantUsage(t, size, node, text, before)
		if answers.byNode[node] != 1 {
			t.Errorf("node %d gave %d answers", node, answers.byNode[node])
		}
	}
	if count, spent := a.Answers(); count != 2 || spent <= 0 {
		t.Errorf("%d answers in %s of CPU", count, spent)
	}
	if _, err := request(t.Context(), a.where(0), nil, selectionOf(size, 0)); err == nil {
		t.Error("a client without a certificate is answered")
	}
}

// where an agent is.
func (a *Agents) where(node int) string {
	return net.JoinHostPort(addressOf(node), strconv.Itoa(a.Port()))
}

// selectionOf are the containers of a node.
func selectionOf(size population.Size, node int) []byte {
	var wanted []selection.Container
	for _, place := range size.PodsOn(node) {
		wanted = append(wanted, selection.Container{
			PodUID: uid(place), ID: id(place), Namespace: size.NamespaceOf(place.Object),
			Pod: population.PodName(place.Object, place.Pod), Name: population.Container,
		})
	}
	return selection.Encode(wanted)
}

// request is the text of an agent's answer to who shows a certificate.
func request(ctx context.Context, address string, shown *tls.Certificate, body []byte) (string, error) {
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	if shown != nil {
		config.Certificates = []tls.Certificate{*shown}
	}
	where := "https://" + address + selection.UsagePath
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, where, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return string(text), err
}

// wantUsage expects the CPU that each pod of a node has used at some time since before.
func wantUsage(t *testing.T, size population.Size, node int, text string, before time.Time) {
	t.Helper()
	if strings.Count(text, "container_memory_working_set_bytes{") != 6 ||
		!strings.Contains(text, strconv.FormatFloat(memoryBytes, 'g', -1, 64)) {
		t.Errorf("memory in\n%s", text)
	}
	for _, place := range size.PodsOn(node) {
		_, rest, found := strings.Cut(text, `container_cpu_usage_seconds_total{container="app",namespace="`+
			size.NamespaceOf(place.Object)+`",pod="`+population.PodName(place.Object, place.Pod)+`"} `)
		number, _, _ := strings.Cut(rest, " ")
		used, err := strconv.ParseFloat(number, 64)
		least, most := usedSeconds(place, before), usedSeconds(place, time.Now())
		// The counter is in nanoseconds, and floating-point numbers of this size in fractions of a microsecond.
		if !found || err != nil || used < least-1e-6 || used > most+1e-6 || math.IsNaN(used) {
			t.Errorf("%v has used %q, want %v to %v", place, number, least, most)
		}
	}
}

// TestTooMany: what this process cannot serve is refused before anything is made.
func TestTooMany(t *testing.T) {
	client := fake.NewClientset()
	for name, size := range map[string]population.Size{
		"nodes": {Objects: mostNodes + 1, PodsPer: 1, PodsPerNode: 1, ObjectsPerNamespace: 1},
		"files": {Objects: 1 << 20, PodsPer: 1 << 10, PodsPerNode: 1 << 20, ObjectsPerNamespace: 1},
	} {
		_, err := Start(t.Context(), Config{
			Client: client, Size: size, UsedSeconds: usedSeconds, Given: func(int, time.Time) {},
		})
		if err == nil || len(client.Actions()) > 0 {
			t.Errorf("too many %s: %v", name, err)
		}
	}
}

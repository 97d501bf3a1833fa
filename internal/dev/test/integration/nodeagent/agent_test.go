package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup/cgrouptest"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// TestAgent: an agent proves its node by its pod's token, is scraped from then on, and is replaced by its node's
// kubelet when it ends.
func TestAgent(t *testing.T) {
	s := namespace(t)
	node, directory := s.Cluster.NodeNames()[0], t.TempDir()
	if err := cgrouptest.WriteFile(filepath.Join(directory, "cgroup.controllers"), "cpu memory\n"); err != nil {
		t.Fatal(err)
	}
	server := agentOn(t, s, node, directory)
	web := harness.Workload{Replicas: ptr.To[int32](2)}.Deployment()
	web.Spec.Template.Spec.NodeName = node
	s.Create(web, harness.Workload{}.Service(5))
	s.Create(harness.Autoscaler("web", harness.Resource(corev1.ResourceCPU, harness.Utilization(50))))
	s.Eventually("the pods' containers have IDs", func(ctx context.Context) error { return withCgroups(ctx, s, directory) })
	awaitLog(s, "resource metrics of a node come from its agent", node,
		func(ctx context.Context) error { return withCgroups(ctx, s, directory) })
	s.AwaitConditions("web", harness.Condition{Type: autoscalingv2.ScalingActive,
		Status: corev1.ConditionTrue, Reason: "ValidMetricFound"})
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	awaitLog(s, "resource metrics of a node come from its kubelet", node, func(context.Context) error { return nil })
}

// awaitLog waits until the controller logs these words about a node. It calls meanwhile before each check.
func awaitLog(s *harness.Namespace, words, node string, meanwhile func(context.Context) error) {
	s.EventuallyWithin(harness.Long, words, func(ctx context.Context) error {
		if err := meanwhile(ctx); err != nil {
			return err
		}
		lines, err := os.ReadFile(s.Cluster.LogPath("plimsoll"))
		if err != nil {
			return err
		}
		said := ""
		for line := range strings.Lines(string(lines)) {
			if strings.Contains(line, "agent") {
				said += line
			}
			if strings.Contains(line, words) && strings.Contains(line, node) {
				return nil
			}
		}
		return fmt.Errorf("the log says of agents: %s", said)
	})
}

// agentOn is an agent in a pod on a node, whose address is one of this machine.
func agentOn(t *testing.T, s *harness.Namespace, node, directory string) *http.Server {
	t.Helper()
	pods := s.Client.CoreV1().Pods(agents)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Labels: map[string]string{"app.kubernetes.io/name": agents},
			Annotations: map[string]string{"sim.plimsoll.dev/metrics": "true"}},
		Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: agents, AutomountServiceAccountToken: ptr.To(false),
			Containers: []corev1.Container{harness.Container("node-agent", "10m", "24Mi")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Eventually("the agent's pod has an address", func(ctx context.Context) error {
		if pod, err = pods.Get(ctx, pod.Name, metav1.GetOptions{}); err == nil && pod.Status.PodIP == "" {
			err = errors.New("it has none")
		}
		return err
	})
	token, err := s.Client.CoreV1().ServiceAccounts(agents).CreateToken(t.Context(), agents, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{selection.Audience},
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	credentials := t.TempDir()
	tokenFile, authorityFile := filepath.Join(credentials, "token"), filepath.Join(credentials, "ca.crt")
	s.Eventually("the controller publishes its authority", func(ctx context.Context) error {
		known, err := s.Client.CoreV1().ConfigMaps(agents).Get(ctx, "plimsoll-node-agent-authority", metav1.GetOptions{})
		if err == nil && known.Data["ca.crt"] == "" {
			err = errors.New("there is none yet")
		}
		if err != nil {
			return err
		}
		return os.WriteFile(authorityFile, []byte(known.Data["ca.crt"]), 0o600)
	})
	if err := os.WriteFile(tokenFile, []byte(token.Status.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, net.JoinHostPort(pod.Status.PodIP, "8443"), directory,
		nodeagent.IdentityConfig{AuthorityFile: authorityFile, TokenFile: tokenFile, Log: logr.Discard()})
}

func serve(t *testing.T, address, directory string, config nodeagent.IdentityConfig) *http.Server {
	t.Helper()
	tree, err := cgroup.Open(cgroup.Config{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := nodeagent.NewHandler(tree, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	identity, err := nodeagent.NewIdentity(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := nodeagent.NewServer(handler, identity, logr.Discard())
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = errors.Join(server.Close(), tree.Close()) })
	return server
}

// withCgroups gives the containers of web IDs and cgroups, as a runtime does. What simulates the pods may take the IDs
// away again.
func withCgroups(ctx context.Context, s *harness.Namespace, directory string) error {
	pods, err := s.Client.CoreV1().Pods(s.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if len(pod.Status.ContainerStatuses) != 1 || !pod.Status.ContainerStatuses[0].Ready {
			return errors.New("a pod is not ready yet")
		}
		id := fmt.Sprintf("%064x", i+1)
		scope := filepath.Join(directory, "kubepods", "burstable", "pod"+string(pod.UID), id)
		for name, content := range map[string]string{
			"cpu.stat": "usage_usec 1000000\n", "memory.current": "1048576\n", "memory.stat": "inactive_file 0\n",
		} {
			if err := cgrouptest.WriteFile(filepath.Join(scope, name), content); err != nil {
				return err
			}
		}
		if pod.Status.ContainerStatuses[0].ContainerID != "" {
			continue
		}
		pod.Status.ContainerStatuses[0].ContainerID = "containerd://" + id
		if _, err := s.Client.CoreV1().Pods(s.Name).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

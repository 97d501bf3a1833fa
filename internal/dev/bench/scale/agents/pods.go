package agents

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// Namespace is that of config/node-agent.
const Namespace = "plimsoll-node-agent"

// The names in config/node-agent of the agents' service account, which is their label too, and of the ConfigMap with
// the CA of clients.
const (
	account      = "plimsoll-node-agent"
	nameLabel    = "app.kubernetes.io/name"
	authorityMap = "plimsoll-node-agent-authority"
	authorityKey = "ca.crt"
)

// Install applies config/node-agent, but for the DaemonSet, whose pods nothing here would make.
func Install(ctx context.Context, cluster *devcluster.Cluster) error {
	return devcluster.DeployNodeAgent(ctx, cluster, func(object *unstructured.Unstructured) (bool, error) {
		return object.GetKind() != "DaemonSet", nil
	})
}

// addressOf is an agent's, in a part of 127.0.0.0/8 where no pod of the population is.
func addressOf(node int) string {
	const network, hosts = population.MostPods + 2, 250
	return netip.AddrFrom4([4]byte{127, network, byte(node / hosts), byte(node%hosts + 1)}).String()
}

// mostNodes is the number of addresses.
const mostNodes = 250 * 250

// containersByNode finds the UIDs of the population's pods, which the API server chose, and the IDs of their
// containers.
func containersByNode(ctx context.Context, client kubernetes.Interface, size population.Size) ([][]container, error) {
	type name struct{ namespace, pod string }
	found := map[name]container{}
	for n := range size.Namespaces() {
		list, err := client.CoreV1().Pods(population.NamespaceName(n)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list the pods: %w", err)
		}
		for i := range list.Items {
			pod := &list.Items[i]
			for _, status := range pod.Status.ContainerStatuses {
				_, id, _ := strings.Cut(status.ContainerID, "://")
				found[name{pod.Namespace, pod.Name}] = container{podUID: string(pod.UID), id: id}
			}
		}
	}
	byNode := make([][]container, size.Nodes())
	for node := range byNode {
		for _, place := range size.PodsOn(node) {
			pod := name{size.NamespaceOf(place.Object), population.PodName(place.Object, place.Pod)}
			c, isThere := found[pod]
			if !isThere || c.id == "" {
				return nil, fmt.Errorf("pod %s/%s does not run", pod.namespace, pod.pod)
			}
			c.place = place
			byNode[node] = append(byNode[node], c)
		}
	}
	return byNode, nil
}

// createPod makes an agent's pod, which runs on a node with an address, and a token of it.
func createPod(ctx context.Context, client kubernetes.Interface, node int) (token string, err error) {
	pods := client.CoreV1().Pods(Namespace)
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: account + "-" + population.NodeName(node), Labels: map[string]string{nameLabel: account},
		},
		Spec: corev1.PodSpec{
			NodeName: population.NodeName(node), ServiceAccountName: account, AutomountServiceAccountToken: ptr.To(false),
			Containers: []corev1.Container{{Name: "node-agent", Image: "registry.example/plimsoll:v1"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create the agent of a node: %w", err)
	}
	address := addressOf(node)
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: ptr.To(metav1.Now()), PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
	}
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return "", fmt.Errorf("start the agent of a node: %w", err)
	}
	request, err := client.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{
			Audiences: []string{selection.Audience},
			BoundObjectRef: &authenticationv1.BoundObjectReference{
				Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of the agent of a node: %w", err)
	}
	return request.Status.Token, nil
}

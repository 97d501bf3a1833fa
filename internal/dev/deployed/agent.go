package deployed

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// The names in config/node-agent of its namespace, its DaemonSet and the ConfigMap with the CA of clients.
const (
	agentNamespace = "plimsoll-node-agent"
	agentName      = "plimsoll-node-agent"
	agentAuthority = "plimsoll-node-agent-authority"
)

// AgentFlag makes the controller scrape the agents of nodes.
const AgentFlag = "--node-agent-namespace=" + agentNamespace

// StartAgent runs the agent of the node as config/node-agent does, once the controller, which runs with AgentFlag, has
// published the authority: a kubelet may show that to a pod that already runs a minute later.
func StartAgent(ctx context.Context, cluster *devcluster.Cluster) error {
	if err := devcluster.DeployNodeAgent(ctx, cluster, isNoAgent); err != nil {
		return err
	}
	err := poll(ctx, func(ctx context.Context) error {
		published, err := cluster.Client().CoreV1().ConfigMaps(agentNamespace).Get(ctx, agentAuthority, metav1.GetOptions{})
		if err == nil && len(published.Data) == 0 {
			err = errors.New("it is empty")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the authority of the agent's clients: %w", err)
	}
	if err := devcluster.DeployNodeAgent(ctx, cluster, func(object *unstructured.Unstructured) (bool, error) {
		return object.GetKind() == "DaemonSet", editAgent(object)
	}); err != nil {
		return err
	}
	err = poll(ctx, func(ctx context.Context) error {
		set, err := cluster.Client().AppsV1().DaemonSets(agentNamespace).Get(ctx, agentName, metav1.GetOptions{})
		if err == nil && (set.Status.NumberReady == 0 || set.Status.NumberReady != set.Status.DesiredNumberScheduled) {
			err = fmt.Errorf("%d of %d are ready", set.Status.NumberReady, set.Status.DesiredNumberScheduled)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the node's agent: %w", err)
	}
	return nil
}

// isNoAgent keeps the objects that the controller needs for agents, without the agents.
func isNoAgent(object *unstructured.Unstructured) (bool, error) {
	return object.GetKind() != "DaemonSet", nil
}

func editAgent(object *unstructured.Unstructured) error {
	if object.GetKind() != "DaemonSet" {
		return nil
	}
	return edit(object, []string{"--kubelet-cgroup-root=" + realnode.CgroupRoot})
}

// StopAgent returns when its pods are gone.
func StopAgent(ctx context.Context, client kubernetes.Interface) error {
	sets, foreground := client.AppsV1().DaemonSets(agentNamespace), metav1.DeletePropagationForeground
	err := poll(ctx, func(ctx context.Context) error {
		err := sets.Delete(ctx, agentName, metav1.DeleteOptions{PropagationPolicy: &foreground})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("its DaemonSet is still there")
	})
	if err != nil {
		return fmt.Errorf("end the node's agent: %w", err)
	}
	return nil
}

package devcluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/manifests"
)

// controllerAccount is the service account that the controller runs as.
const controllerAccount = "plimsoll-controller"

// granted are the kinds of config/ that a process outside of the cluster needs: all but what would run it inside.
var granted = map[string]bool{
	"Namespace": true, "ServiceAccount": true, "ClusterRole": true, "ClusterRoleBinding": true, "Role": true,
	"RoleBinding": true,
}

// InstallPlimsoll applies the rights that the repository's config/ grants, exactly as they stand there, and returns a
// kubeconfig of its service account: a process on this machine may then do what it might in a pod, and no more. It
// does without kubectl, which the demo would else have to build.
func (a *access) InstallPlimsoll(ctx context.Context) (kubeconfig string, err error) {
	root, err := build.Root()
	if err != nil {
		return "", err
	}
	objects, err := manifests.Kustomization(filepath.Join(root, "config"))
	if err != nil {
		return "", fmt.Errorf("devcluster: config/: %w", err)
	}
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == rbacv1.ServiceAccountKind && o.GetName() == controllerAccount
	})
	if at < 0 {
		return "", fmt.Errorf("devcluster: config/: there is no service account %s", controllerAccount)
	}
	namespace := objects[at].GetNamespace()
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !granted[o.GetKind()] })
	if err := manifests.Apply(ctx, a.rest, objects); err != nil {
		return "", fmt.Errorf("devcluster: apply config/: %w", err)
	}
	// The user of the account's token.
	return a.KubeconfigFor("system:serviceaccount:"+namespace+":"+controllerAccount,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated")
}

// DeployPlimsoll applies what keep is true of in the repository's config/, as `kubectl apply -k` would, for a cluster
// whose nodes can run it. Keep may change an object before, such as the image's pull policy.
func (a *access) DeployPlimsoll(ctx context.Context, keep Keep) error {
	return deploy(ctx, a.rest, "config", keep)
}

// DeployNodeAgent does the same with config/node-agent.
func DeployNodeAgent(ctx context.Context, cluster *Cluster, keep Keep) error {
	return deploy(ctx, cluster.RESTConfig(), "config/node-agent", keep)
}

// Keep reports whether an object is to be applied. It may change it before.
type Keep func(*unstructured.Unstructured) (bool, error)

func deploy(ctx context.Context, config *rest.Config, folder string, keep Keep) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	objects, err := manifests.Kustomization(filepath.Join(root, folder))
	if err != nil {
		return fmt.Errorf("devcluster: %s: %w", folder, err)
	}
	var kept []*unstructured.Unstructured
	for _, object := range objects {
		wanted, err := keep(object)
		if err != nil {
			return fmt.Errorf("devcluster: %s: %s %s: %w", folder, object.GetKind(), object.GetName(), err)
		}
		if wanted {
			kept = append(kept, object)
		}
	}
	if err := manifests.Apply(ctx, config, kept); err != nil {
		return fmt.Errorf("devcluster: apply %s: %w", folder, err)
	}
	return nil
}

package devcluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// controllerAccount is the service account that the controller runs as.
const controllerAccount = "plimsoll-controller"

// granted are the kinds of config/ that a process outside of the cluster needs: all but what would run it inside.
var granted = map[string]bool{
	"Namespace": true, "ServiceAccount": true, "ClusterRole": true, "ClusterRoleBinding": true, "Role": true, "RoleBinding": true,
}

// InstallPlimsoll applies the rights that the repository's config/ grants, exactly as they stand there, and returns a
// kubeconfig of its service account: a process on this machine may then do what it might in a pod, and no more. It
// does without kubectl, which the demo would else have to build.
func (c *Cluster) InstallPlimsoll(ctx context.Context) (kubeconfig string, err error) {
	root, err := build.Root()
	if err != nil {
		return "", err
	}
	objects, account, err := manifests(filepath.Join(root, "config"))
	if err != nil {
		return "", fmt.Errorf("devcluster: config/: %w", err)
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !granted[o.GetKind()] })
	if err := c.apply(ctx, objects); err != nil {
		return "", fmt.Errorf("devcluster: apply config/: %w", err)
	}
	// What the API server makes of the account's token.
	return c.KubeconfigFor("system:serviceaccount:"+account.GetNamespace()+":"+account.GetName(),
		"system:serviceaccounts", "system:serviceaccounts:"+account.GetNamespace(), "system:authenticated")
}

// DeployPlimsoll applies what keep is true of in the repository's config/, as `kubectl apply -k` would, for a cluster
// whose nodes can run it. Keep may change an object before, such as the image's pull policy.
func (c *Cluster) DeployPlimsoll(ctx context.Context, keep func(*unstructured.Unstructured) (bool, error)) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	objects, _, err := manifests(filepath.Join(root, "config"))
	if err != nil {
		return fmt.Errorf("devcluster: config/: %w", err)
	}
	var kept []*unstructured.Unstructured
	for _, object := range objects {
		wanted, err := keep(object)
		if err != nil {
			return fmt.Errorf("devcluster: config/: %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if wanted {
			kept = append(kept, object)
		}
	}
	if err := c.apply(ctx, kept); err != nil {
		return fmt.Errorf("devcluster: apply config/: %w", err)
	}
	return nil
}

// manifests are the objects that `kubectl apply -k` of this directory applies, and the controller's service account among
// them.
func manifests(dir string) (objects []*unstructured.Unstructured, account *unstructured.Unstructured, err error) {
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, nil, fmt.Errorf("kustomize: %w", err)
	}
	for _, resource := range rendered.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", resource.CurId(), err)
		}
		// Numbers become those that unstructured objects have, which Map's are not.
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", resource.CurId(), err)
		}
		objects = append(objects, object)
		if object.GetKind() == rbacv1.ServiceAccountKind && object.GetName() == controllerAccount {
			account = object
		}
	}
	if account == nil {
		return nil, nil, fmt.Errorf("there is no service account %s", controllerAccount)
	}
	return objects, account, nil
}

func (c *Cluster) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(c.rest)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	groups, err := restmapper.GetAPIGroupResources(discovery.NewDiscoveryClient(c.client.Discovery().RESTClient()))
	if err != nil {
		return fmt.Errorf("discover: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind.Kind, object.GetName(), err)
		}
		var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			resource = client.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		options := metav1.ApplyOptions{FieldManager: "devcluster"}
		if _, err := resource.Apply(ctx, object.GetName(), object, options); err != nil {
			return fmt.Errorf("%s %s: %w", kind.Kind, object.GetName(), err)
		}
	}
	return nil
}

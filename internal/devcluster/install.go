package devcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/devcluster/build"
)

// granted are the kinds of config/ that a process outside of the cluster needs: all but what would run it inside.
var granted = map[string]bool{
	"Namespace": true, "ServiceAccount": true, "ClusterRole": true, "ClusterRoleBinding": true, "Role": true, "RoleBinding": true,
}

// InstallPlimsoll applies the rights that the repository's config/ grants, exactly as they stand there, and returns a
// kubeconfig of its service account: a process on this machine may then do what it might in a pod, and no more.
func (c *Cluster) InstallPlimsoll(ctx context.Context) (kubeconfig string, err error) {
	root, err := build.Root()
	if err != nil {
		return "", err
	}
	rendered, err := c.Kubectl(ctx, "kustomize", filepath.Join(root, "config"))
	if err != nil {
		return "", err
	}
	kept, account, err := grants(rendered)
	if err != nil {
		return "", fmt.Errorf("devcluster: config/: %w", err)
	}
	if _, err := c.KubectlInput(ctx, kept, "apply", "--server-side", "-f", "-"); err != nil {
		return "", err
	}
	// What the API server makes of the account's token.
	return c.KubeconfigFor("system:serviceaccount:"+account.Namespace+":"+account.Name,
		"system:serviceaccounts", "system:serviceaccounts:"+account.Namespace, "system:authenticated")
}

// grants picks the documents that grant rights, and the one service account.
func grants(rendered string) (string, metav1.ObjectMeta, error) {
	var kept []string
	var accounts []metav1.ObjectMeta
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return "", metav1.ObjectMeta{}, fmt.Errorf("decode: %w", err)
		}
		if granted[object.Kind] {
			kept = append(kept, document)
		}
		if object.Kind == rbacv1.ServiceAccountKind {
			accounts = append(accounts, object.ObjectMeta)
		}
	}
	if len(accounts) != 1 {
		return "", metav1.ObjectMeta{}, errors.New("there must be exactly one service account")
	}
	return strings.Join(kept, "\n---\n"), accounts[0], nil
}

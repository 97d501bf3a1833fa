package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/devcluster/build"
)

// plimsollName is the program's name; its log is at Cluster.LogPath of it.
const plimsollName = "plimsoll"

// SyncFlags make Plimsoll decide each second and log each decision.
func SyncFlags() []string {
	return []string{"--horizontal-pod-autoscaler-sync-period=1s", "--v=1"}
}

// Plimsoll is `plimsoll controller` as a process of its own that acts as the service account of config/.
type Plimsoll struct {
	cluster    *devcluster.Cluster
	binary     string
	kubeconfig string
	program    *devcluster.Program
}

// NewPlimsoll builds the program and grants its service account what config/ grants. It does not start it.
func NewPlimsoll(ctx context.Context, cluster *devcluster.Cluster) (*Plimsoll, error) {
	built, err := build.Run(ctx, build.Config{Parts: []string{plimsollName}, Out: os.Stderr})
	if err != nil {
		return nil, fmt.Errorf("build Plimsoll: %w", err)
	}
	binary := filepath.Join(built.BinDir, plimsollName)
	if !hasConfig() {
		fmt.Fprintln(os.Stderr, "NOT FINISHED: config/ does not exist, Plimsoll runs as administrator")
		return &Plimsoll{cluster: cluster, binary: binary, kubeconfig: cluster.KubeconfigPath()}, nil
	}
	account, err := install(ctx, cluster)
	if err != nil {
		return nil, fmt.Errorf("install what config/ grants: %w", err)
	}
	kubeconfig, err := cluster.KubeconfigFor(account.user(), account.groups()...)
	if err != nil {
		return nil, err
	}
	return &Plimsoll{cluster: cluster, binary: binary, kubeconfig: kubeconfig}, nil
}

// Start runs the program until it is ready. Later flags win over earlier ones, these over SyncFlags.
func (p *Plimsoll) Start(ctx context.Context, flags ...string) error {
	flags = append(append([]string{"--kubeconfig=" + p.kubeconfig}, SyncFlags()...), flags...)
	var err error
	p.program, err = p.cluster.StartPlimsoll(ctx, p.binary, flags...)
	return err
}

// Stop ends the program politely. It can be started again.
func (p *Plimsoll) Stop(ctx context.Context) { p.program.Stop(ctx) }

// Kill ends the program without a chance to clean up. It can be started again.
func (p *Plimsoll) Kill() { p.program.Kill() }

// account is a service account.
type account struct{ namespace, name string }

// user and groups are what an API server makes of the account's token.
func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

func (a account) groups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + a.namespace, "system:authenticated"}
}

// installed are the kinds of config/ that a process outside of the cluster needs: all but what would run it inside.
var installed = map[string]bool{
	"Namespace": true, "ServiceAccount": true, "ClusterRole": true, "ClusterRoleBinding": true, "Role": true, "RoleBinding": true,
}

// install applies the rights that config/ grants, exactly as they stand there, and returns the service account.
func install(ctx context.Context, cluster *devcluster.Cluster) (account, error) {
	root, err := build.Root()
	if err != nil {
		return account{}, err
	}
	rendered, err := cluster.Kubectl(ctx, "kustomize", filepath.Join(root, "config"))
	if err != nil {
		return account{}, err
	}
	var kept []string
	var accounts []account
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return account{}, fmt.Errorf("read config/: %w", err)
		}
		if installed[object.Kind] {
			kept = append(kept, document)
		}
		if object.Kind == rbacv1.ServiceAccountKind {
			accounts = append(accounts, account{namespace: object.Namespace, name: object.Name})
		}
	}
	if len(accounts) != 1 {
		return account{}, errors.New("config/ must have one service account")
	}
	_, err = cluster.KubectlInput(ctx, strings.Join(kept, "\n---\n"), "apply", "--server-side", "-f", "-")
	return accounts[0], err
}

// hasConfig is for the days before config/ is written.
func hasConfig() bool {
	root, err := build.Root()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(root, "config", "kustomization.yaml"))
	return err == nil
}

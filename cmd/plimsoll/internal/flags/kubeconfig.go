package flags

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

// RESTConfig returns the configuration of clients for the cluster that the flags or the kubeconfig select. The API
// server logs the agent as the client's name.
func RESTConfig(kube *genericclioptions.ConfigFlags, agent string) (*rest.Config, error) {
	if err := checkKubeconfig(kube); err != nil {
		return nil, err
	}
	config, err := kube.ToRESTConfig()
	if err != nil {
		return nil, kubeconfigError(kube, err)
	}
	config.UserAgent = agent
	return config, nil
}

// Namespace returns the namespace of --namespace, or of the kubeconfig's context.
func Namespace(kube *genericclioptions.ConfigFlags) (string, error) {
	namespace, _, err := kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", kubeconfigError(kube, err)
	}
	return namespace, nil
}

// Context returns the name of the kubeconfig's context in use; empty without one.
func Context(kube *genericclioptions.ConfigFlags) string {
	if name := text(kube.Context); name != "" {
		return name
	}
	raw, err := kube.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return raw.CurrentContext
}

// ToCluster returns the given flags that select the cluster, without credentials: printed commands are copied and
// stored.
func ToCluster(kube *genericclioptions.ConfigFlags) []string {
	var given []string
	for _, flag := range []struct {
		name  string
		value *string
	}{
		{"--kubeconfig=", kube.KubeConfig}, {"--context=", kube.Context}, {"--cluster=", kube.ClusterName},
		{"--user=", kube.AuthInfoName}, {"--server=", kube.APIServer},
	} {
		if value := text(flag.value); value != "" {
			given = append(given, flag.name+value)
		}
	}
	return given
}

// localhost is client-go's default server. No user means it.
const localhost = "http://localhost:8080"

// checkKubeconfig returns an error if nothing selects a cluster.
func checkKubeconfig(kube *genericclioptions.ConfigFlags) error {
	raw, err := kube.ToRawKubeConfigLoader().RawConfig()
	switch {
	case err != nil:
		return kubeconfigError(kube, err)
	case len(raw.Clusters) > 0, text(kube.APIServer) != "", os.Getenv("KUBERNETES_MASTER") != "":
		return nil
	}
	// In a pod, the service account stands in for a kubeconfig.
	if config, err := kube.ToRESTConfig(); err == nil && config.Host != localhost {
		return nil
	}
	return &cmderror.Error{What: "no cluster is configured", Why: "there is no kubeconfig in " + where(kube),
		Next: "name one with --kubeconfig or KUBECONFIG, or have your cloud's or cluster's tool write one"}
}

// where returns the paths of the kubeconfig files.
func where(kube *genericclioptions.ConfigFlags) string {
	if path := text(kube.KubeConfig); path != "" {
		return path
	}
	if paths := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); paths != "" {
		return paths + " (KUBECONFIG)"
	}
	return clientcmd.RecommendedHomeFile
}

// kubeconfigError describes the problem of the kubeconfig, or of a flag that selects from it.
func kubeconfigError(kube *genericclioptions.ConfigFlags, err error) error {
	raw, rawErr := kube.ToRawKubeConfigLoader().RawConfig()
	named := text(kube.Context)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &cmderror.Error{What: "the kubeconfig " + where(kube) + " cannot be read", Why: "there is no such file",
			Next: "see --kubeconfig and KUBECONFIG", Cause: err}
	case errors.Is(err, fs.ErrPermission):
		return &cmderror.Error{What: "the kubeconfig " + where(kube) + " cannot be read", Why: "you may not read this file",
			Next: "see the owner and the mode of the file", Cause: err}
	case rawErr == nil && named != "" && raw.Contexts[named] == nil:
		return unknownName("context", named, slices.Sorted(maps.Keys(raw.Contexts)), err)
	case rawErr == nil && text(kube.ClusterName) != "" && raw.Clusters[text(kube.ClusterName)] == nil:
		return unknownName("cluster", text(kube.ClusterName), slices.Sorted(maps.Keys(raw.Clusters)), err)
	case rawErr == nil && text(kube.AuthInfoName) != "" && raw.AuthInfos[text(kube.AuthInfoName)] == nil:
		return unknownName("user", text(kube.AuthInfoName), slices.Sorted(maps.Keys(raw.AuthInfos)), err)
	}
	return &cmderror.Error{What: "the kubeconfig " + where(kube) + " cannot be used", Why: err.Error(),
		Next: "kubectl config view shows what is in it", Cause: err}
}

// unknownName returns the error about a flag whose value is not in the kubeconfig.
func unknownName(flag, name string, known []string, err error) error {
	next := cmderror.DidYouMean(cmderror.Nearest(name, known))
	if next == "" {
		next = "kubectl config get-" + flag + "s lists them"
	}
	return cmderror.Usage(&cmderror.Error{What: "--" + flag + "=" + name + ": the kubeconfig has no such " + flag,
		Next: next, Flag: flag, Value: name, Cause: err})
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return strings.TrimSpace(*value)
}

// Package complete is the shell completion of commands: values of flags, names of objects, namespaces and contexts.
// Completion reads only, and gives nothing where the cluster does not answer in time.
package complete

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/kube/names"
)

// patience is the longest time that a shell waits, for a cluster or a credential plugin.
const patience = 2 * time.Second

// Kube completes the flags about the cluster.
func Kube(cmd *cobra.Command, kube *genericclioptions.ConfigFlags) {
	namespaces := func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		found := list(cmd.Context(), kube, names.Query{Kind: names.Namespaces, Prefix: typed})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	register(cmd, "namespace", namespaces)
	if cmd.Flags().Lookup("controller-namespace") != nil {
		register(cmd, "controller-namespace", namespaces)
	}
	for flag, of := range map[string]func(*kubeconfig) []string{
		"context": (*kubeconfig).contexts, "cluster": (*kubeconfig).clusters, "user": (*kubeconfig).users,
	} {
		register(cmd, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			raw, err := kube.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return beginning(of(&kubeconfig{raw}), typed), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// register sets how a flag is completed, which fails only for flags that the command does not have.
func register(cmd *cobra.Command, flag string, completion cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, completion); err != nil {
		panic(err)
	}
}

// Values completes the flags of a command that have few values.
func Values(cmd *cobra.Command) {
	for flag, values := range flags.AllValues(cmd.Flags()) {
		register(cmd, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return values.Complete(typed), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// beginning are the names that begin with what was typed.
func beginning(all []string, typed string) []string {
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, typed) })
}

// list lists names in the namespace of the flags; none where that does not work in time. The request runs beside,
// because a program that gets credentials does not end with the context.
func list(ctx context.Context, kube *genericclioptions.ConfigFlags, q names.Query) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	found := make(chan []string, 1)
	go func() {
		defer close(found)
		config, err := flags.RESTConfig(kube, "plimsoll-completion")
		if err != nil {
			return
		}
		if config.ExecProvider != nil {
			config.ExecProvider.StdinUnavailable = true
			config.ExecProvider.StdinUnavailableMessage = "completion asks nothing"
		}
		if q.Kind != names.Namespaces {
			if q.Namespace, err = flags.Namespace(kube); err != nil {
				return
			}
		}
		q.Timeout = patience
		// What was read before an error is of use.
		all, _ := names.List(ctx, config, q)
		found <- all
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case all := <-found:
		return all
	case <-timer.C:
		return nil
	}
}

// sortedKeys are the names in a map of the kubeconfig.
func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

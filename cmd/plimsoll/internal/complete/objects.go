package complete

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/plimsoll-dev/plimsoll/internal/kube/names"
)

// kubeconfig has the contexts, clusters and users to choose from.
type kubeconfig struct{ raw clientcmdapi.Config }

func (k *kubeconfig) contexts() []string { return sortedKeys(k.raw.Contexts) }
func (k *kubeconfig) clusters() []string { return sortedKeys(k.raw.Clusters) }
func (k *kubeconfig) users() []string    { return sortedKeys(k.raw.AuthInfos) }

// Kind is a kind of objects that a command takes.
type Kind struct {
	// Short is what is offered before a name is typed; Long are further names of the kind.
	Short string
	Long  []string
	// About is a word about it.
	About string
	Query names.Query
}

// The kinds that commands take.
var (
	HPA = Kind{Short: "hpa", Long: []string{"horizontalpodautoscaler", "horizontalpodautoscalers"},
		About: "a HorizontalPodAutoscaler", Query: query(names.HPAs)}
	WLA = Kind{Short: "wla", Long: []string{"workloadautoscaler", "workloadautoscalers"},
		About: "a WorkloadAutoscaler", Query: query(names.WLAs)}
	VPA = Kind{Short: "vpa", Long: []string{"verticalpodautoscaler", "verticalpodautoscalers"},
		About: "a VerticalPodAutoscaler", Query: query(names.VPAs)}
	ScaledObject = Kind{Short: "scaledobject", Long: []string{"so", "scaledobjects"},
		About: "a ScaledObject of KEDA", Query: query(names.ScaledObjects)}
)

func query(kind schema.GroupVersionResource) names.Query { return names.Query{Kind: kind} }

// Objects complete KIND/NAME, and NAME after KIND.
type Objects struct {
	Kube  *genericclioptions.ConfigFlags
	Kinds []Kind
	// IsOne says that the command takes one object.
	IsOne bool
}

// Arguments completes the arguments of a command.
func (o *Objects) Arguments(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	kinds := o.Kinds
	switch {
	case len(args) == 0:
	case !strings.Contains(args[0], "/"):
		// The first is a kind, and names follow.
		if o.IsOne && len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return without(o.names(cmd, args[0], typed), args), cobra.ShellCompDirectiveNoFileComp
	case o.IsOne:
		return nil, cobra.ShellCompDirectiveNoFileComp
	default:
		// All are of one kind.
		first, _, _ := strings.Cut(args[0], "/")
		if kind := o.kind(first); kind != nil {
			kinds = []Kind{*kind}
		}
	}
	found, directive := complete(o, cmd, kinds, typed)
	return without(found, args), directive
}

// Flag completes KIND/NAME as the value of a flag.
func (o *Objects) Flag(cmd *cobra.Command, flag string) {
	register(cmd, flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return complete(o, cmd, o.Kinds, typed)
	})
}

// complete offers the kinds, and after a kind and a slash the names of its objects.
func complete(o *Objects, cmd *cobra.Command, kinds []Kind, typed string) ([]string, cobra.ShellCompDirective) {
	kind, name, hasSlash := strings.Cut(typed, "/")
	if hasSlash {
		var found []string
		for _, each := range o.names(cmd, kind, name) {
			found = append(found, kind+"/"+each)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for i := range kinds {
		if strings.HasPrefix(kinds[i].Short, typed) {
			found = append(found, cobra.CompletionWithDesc(kinds[i].Short+"/", kinds[i].About))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (o *Objects) names(cmd *cobra.Command, kind, typed string) []string {
	of := o.kind(kind)
	if of == nil {
		return nil
	}
	q := of.Query
	q.Prefix = typed
	return list(cmd.Context(), o.Kube, q)
}

// kind is the one that a user names; nil for none.
func (o *Objects) kind(name string) *Kind {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	for i := range o.Kinds {
		k := &o.Kinds[i]
		if name == k.Short || name == k.Short+"s" || slices.Contains(k.Long, name) {
			return k
		}
	}
	return nil
}

// without leaves out what is named already.
func without(found, args []string) []string {
	return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(args, name) })
}

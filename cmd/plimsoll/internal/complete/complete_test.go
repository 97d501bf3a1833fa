package complete

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/kube/names"
)

// start starts an API server with these objects at each path, and sets KUBECONFIG to it.
func start(t *testing.T, objects map[string][]string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, isServed := objects[r.URL.Path]
		switch {
		case r.Method != http.MethodGet:
			t.Errorf("completion writes: %s %s", r.Method, r.URL)
		case !isServed:
			http.NotFound(w, r)
			return
		case all == nil: // it hangs
			<-r.Context().Done()
			return
		}
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{
			APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		for _, name := range all {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "config")
	content := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: production,
contexts: [{name: production, context: {cluster: main, user: me, namespace: shop}},
  {name: preview, context: {cluster: main, user: me}}, {name: staging, context: {cluster: main, user: me}}],
clusters: [{name: main, cluster: {server: "%s"}}], users: [{name: me, user: {token: x}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
}

// program is a command that takes one object, one that takes several, and a flag that takes one.
func program() *cobra.Command {
	root := &cobra.Command{Use: "plimsoll"}
	nothing := func(*cobra.Command, []string) {}
	for _, isOne := range []bool{true, false} {
		kube := genericclioptions.NewConfigFlags(true)
		objects := &Objects{Kube: kube, Kinds: []Kind{HPA, WLA, VPA}, IsOne: isOne}
		cmd := &cobra.Command{Use: map[bool]string{true: "one", false: "many"}[isOne], Run: nothing}
		cmd.ValidArgsFunction = objects.Arguments
		kube.AddFlags(cmd.Flags())
		cmd.Flags().String("from", "", "")
		Kube(cmd, kube)
		objects.Flag(cmd, "from")
		root.AddCommand(cmd)
	}
	return root
}

// completed are the completions of a command line, whose last word may be empty, and the directive.
func completed(t *testing.T, line string) (found []string, directive string) {
	t.Helper()
	root := program()
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs(append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Split(line, " ")...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := len(lines) - 1
	return lines[:last], lines[last]
}

const (
	noFile        = ":4"
	noFileNoSpace = ":6"
)

// TestCompletion completes kinds, names, namespaces and contexts.
func TestCompletion(t *testing.T) {
	start(t, map[string][]string{
		"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers":   {"api", "web", "web-2"},
		"/apis/autoscaling/v2/namespaces/other/horizontalpodautoscalers":  {"elsewhere"},
		"/apis/plimsoll.dev/v1alpha1/namespaces/shop/workloadautoscalers": {"night"},
		"/api/v1/namespaces": {"default", "shop", "shop-test"},
	})
	for line, tt := range map[string]struct {
		want      []string
		directive string
	}{
		"one ":                       {[]string{"hpa/", "wla/", "vpa/"}, noFileNoSpace},
		"one w":                      {[]string{"wla/"}, noFileNoSpace},
		"one hpa/":                   {[]string{"hpa/api", "hpa/web", "hpa/web-2"}, noFile},
		"one hpa/w":                  {[]string{"hpa/web", "hpa/web-2"}, noFile},
		"one hpa/ -n other --from=x": {nil, noFile}, // the last word is a flag's
		"one -n other hpa/":          {[]string{"hpa/elsewhere"}, noFile},
		"one --context=staging hpa/": {nil, noFile}, // namespace default, which has none
		"one horizontalpodautoscalers.autoscaling/a": {[]string{"horizontalpodautoscalers.autoscaling/api"}, noFile},
		"one hpa ":           {[]string{"api", "web", "web-2"}, noFile},
		"one hpa web ":       {nil, noFile},
		"one hpa/web ":       {nil, noFile},
		"one wla/":           {[]string{"wla/night"}, noFile},
		"one vpa/":           {nil, noFile}, // not served
		"one deployment/":    {nil, noFile},
		"one -n sh":          {[]string{"shop", "shop-test"}, noFile},
		"one --context=p":    {[]string{"preview", "production"}, noFile},
		"one --cluster ":     {[]string{"main"}, noFile},
		"one --user ":        {[]string{"me"}, noFile},
		"one --from hpa/a":   {[]string{"hpa/api"}, noFile},
		"one --from ":        {[]string{"hpa/", "wla/", "vpa/"}, noFileNoSpace},
		"many hpa/web ":      {[]string{"hpa/"}, noFileNoSpace},
		"many hpa/web hpa/w": {[]string{"hpa/web-2"}, noFile},
		"many hpa web ":      {[]string{"api", "web-2"}, noFile},
	} {
		got, directive := completed(t, line)
		if !slices.Equal(got, tt.want) && len(got)+len(tt.want) > 0 || directive != tt.directive && line != "one hpa/ -n other --from=x" {
			t.Errorf("%q: %q %s, want %q %s", line, got, directive, tt.want, tt.directive)
		}
	}
}

// TestNoCluster: where nothing answers in time, or nothing is configured, completion gives nothing, soon.
func TestNoCluster(t *testing.T) {
	start(t, map[string][]string{"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers": nil})
	begun := time.Now()
	if got, directive := completed(t, "one hpa/"); len(got) > 0 || directive != noFile {
		t.Errorf("a server that hangs: %q %s", got, directive)
	}
	if took := time.Since(begun); took > patience+10*time.Second {
		t.Errorf("it took %s", took)
	}
	for name, line := range map[string]string{
		"nobody answers":  "one --server=http://127.0.0.1:1 hpa/",
		"no such context": "one --context=no hpa/",
	} {
		if got, directive := completed(t, line); len(got) > 0 || directive != noFile {
			t.Errorf("%s: %q %s", name, got, directive)
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	for _, line := range []string{"one hpa/", "one --context=", "one -n "} {
		if got, directive := completed(t, line); len(got) > 0 || directive != noFile {
			t.Errorf("no kubeconfig, %q: %q %s", line, got, directive)
		}
	}
}

// TestSimilar: an error about a name offers those that may have been meant.
func TestSimilar(t *testing.T) {
	start(t, map[string][]string{
		"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers": {"api", "web", "worker"},
		"/apis/autoscaling/v2/namespaces/none/horizontalpodautoscalers": {},
	})
	config, err := genericclioptions.NewConfigFlags(true).ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ namespace, object, want string }{
		"near":    {"shop", "wbe", "not found: did you mean web? see kubectl"},
		"odd":     {"shop", "elasticsearch", "not found: namespace shop has only api, web, worker: see kubectl"},
		"none":    {"none", "web", "has no horizontalpodautoscalers.autoscaling at all: name another namespace"},
		"no list": {"other", "web", "not found: see kubectl"},
	} {
		missing := &cmderror.Error{What: "not found", Next: "see kubectl get hpa", Missing: &cmderror.Object{
			Resource: names.HPAs.GroupResource().String(), Namespace: tt.namespace, Name: tt.object}}
		if got := Similar(t.Context(), config, fmt.Errorf("x: %w", missing)); !strings.Contains(got.Error(), "x: ") ||
			!strings.Contains(missing.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, missing, tt.want)
		}
	}
	if err := Similar(t.Context(), config, nil); err != nil {
		t.Error(err)
	}
}

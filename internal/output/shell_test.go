package output

import "testing"

// TestToCluster: a command that is pasted elsewhere goes to the cluster that was read.
func TestToCluster(t *testing.T) {
	const patch = "kubectl patch hpa web"
	shop := []string{"--context=kind-shop"}
	for _, tt := range []struct {
		command string
		flags   []string
		want    string
	}{
		{patch, nil, patch},
		{patch, shop, "kubectl --context=kind-shop patch hpa web"},
		{patch, []string{"--kubeconfig=/home/a b/config", "--server=https://a:6443"},
			"kubectl '--kubeconfig=/home/a b/config' '--server=https://a:6443' patch hpa web"},
		{patch, []string{"--context=it's; rm"}, `kubectl '--context=it'\''s; rm' patch hpa web`},
		{"helm upgrade a b", []string{"--context=kind-shop", "--server=b"},
			"helm --kube-context=kind-shop --kube-apiserver=b upgrade a b"},
		{"plimsoll migrate hpa/web", shop, "plimsoll migrate --context=kind-shop hpa/web"},
		{"date -u", shop, "date -u"},
		{"", shop, ""},
	} {
		if got := CommandToCluster(tt.command, tt.flags); got != tt.want {
			t.Errorf("%q with %q: %s, want %s", tt.command, tt.flags, got, tt.want)
		}
	}
}

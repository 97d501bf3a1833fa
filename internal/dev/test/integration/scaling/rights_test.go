package scaling

import (
	"strings"
	"testing"
)

// All tests here run Plimsoll as the service account of config/. This one shows that the account may do little: if it
// could do everything, nothing would be shown about config/.
func TestPlimsollHasOnlyTheRightsOfItsServiceAccount(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	as := "--kubeconfig=" + shared.Plimsoll(t).Kubeconfig()
	wantOutput(t, s.Kubectl(as, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"),
		"system:serviceaccount:plimsoll-system:plimsoll-controller")
	for action, want := range map[string]string{
		"update deployments.apps/web --subresource=scale":                  "yes",
		"update crews.sailing.example/web --subresource=scale":             "yes",
		"update horizontalpodautoscalers.autoscaling/web":                  "no",
		"update horizontalpodautoscalers.autoscaling --subresource=status": "yes",
		"update deployments.apps/web":                                      "no",
		"patch deployments.apps/web":                                       "no",
		"get secrets":                                                      "no",
		"list secrets":                                                     "no",
		"delete pods":                                                      "no",
		"create pods":                                                      "no",
		"get leases.coordination.k8s.io/other":                             "no",
		"create clusterrolebindings.rbac.authorization.k8s.io":             "no",
	} {
		// A "no" is also an exit status of 1.
		out, _ := s.Cluster.Kubectl(t.Context(),
			append([]string{as, "--namespace=" + s.Name, "auth", "can-i"}, strings.Fields(action)...)...)
		if got := strings.TrimSpace(out); got != want {
			t.Errorf("can-i %s: %q, want %s", action, got, want)
		}
	}
}

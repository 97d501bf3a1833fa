package kubelets

import (
	"context"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// agentPod is an agent's pod on a node.
func agentPod(name, node, address string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: name, UID: types.UID("uid-" + name),
			Labels: map[string]string{"app.kubernetes.io/name": agentName}},
		Spec:   corev1.PodSpec{NodeName: node, ServiceAccountName: agentName},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address},
	}
}

// runningAgents follows a cluster's agents until the test ends.
func runningAgents(t *testing.T, client *fake.Clientset) (a *agents, logged func(part string) bool) {
	t.Helper()
	var logs []string
	log := funcr.New(func(_, args string) { logs = append(logs, args) }, funcr.Options{})
	a, err := newAgents(&Agents{Namespace: "agents", Port: 8443, Authority: DefaultAuthority}, client, log)
	if err != nil {
		t.Fatal(err)
	}
	go a.run(t.Context())
	synctest.Wait()
	return a, func(part string) bool {
		return slices.ContainsFunc(logs, func(line string) bool { return strings.Contains(line, part) })
	}
}

// published is the empty ConfigMap of config/node-agent.
func published() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: authorityMap}}
}

// TestAuthority: agents have the CA that signed the controller's certificate, also after a renewal, and the previous
// one for as long as one of its certificates is in use.
func TestAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(published())
		a, _ := runningAgents(t, client)
		for day := range 70 {
			known, err := client.CoreV1().ConfigMaps("agents").Get(t.Context(), authorityMap, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			if !roots.AppendCertsFromPEM([]byte(known.Data[authorityKey])) {
				t.Fatalf("day %d: agents know no authority", day)
			}
			_, err = a.Credentials().Shown.Leaf.Verify(x509.VerifyOptions{
				Roots: roots, CurrentTime: time.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			})
			if err != nil {
				t.Fatalf("day %d: %v", day, err)
			}
			<-time.After(24 * time.Hour)
			synctest.Wait()
		}
	})
}

// TestFollowsAgain: following agents ends when a permission is missing, and starts again with the next session.
func TestFollowsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(published())
		a, err := newAgents(&Agents{Namespace: "agents", Port: 8443, Authority: DefaultAuthority}, client, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		pods := client.CoreV1().Pods("agents")
		for range 2 {
			ctx, end := context.WithCancel(t.Context())
			go a.run(ctx)
			synctest.Wait()
			if _, err := pods.Create(ctx, agentPod("1", "a", "10.0.0.1"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if _, found := a.find("a"); !found {
				t.Error("the agent is not found")
			}
			if err := pods.Delete(ctx, "1", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if _, found := a.find("a"); found {
				t.Error("an agent that is gone is found")
			}
			end()
			synctest.Wait()
		}
	})
}

// TestNotInstalled: without the objects of config/node-agent the log has the missing one, and there is no request.
func TestNotInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("*", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("forbidden")
		})
		a, logged := runningAgents(t, client)
		if !logged("forbidden") || a.Credentials() != nil {
			t.Error("no message about unreachable agents")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if _, logged := runningAgents(t, fake.NewClientset()); !logged("config/node-agent") {
			t.Error("the message does not name what to apply")
		}
	})
}

// TestFind: of an agent's pods on a node, the running one.
func TestFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ending, waiting, other := agentPod("1", "a", "10.0.0.1"), agentPod("3", "a", ""), agentPod("4", "b", "10.0.0.4")
		ending.DeletionTimestamp, ending.Finalizers = &metav1.Time{Time: time.Now()}, []string{"x"}
		waiting.Status.Phase, other.Labels = corev1.PodPending, nil
		client := fake.NewClientset(published(), ending, agentPod("2", "a", "fd00::2"), waiting, other)
		a, _ := runningAgents(t, client)
		if address, found := a.find("a"); !found || address != "[fd00::2]:8443" {
			t.Errorf("%q, %t", address, found)
		}
		if address, found := a.find("c"); found {
			t.Errorf("%q", address)
		}
	})
}

// TestTwoInstallations: a second installation on the agents of the first leaves their CA unchanged, and logs why.
func TestTwoInstallations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(published())
		known := func() *corev1.ConfigMap {
			t.Helper()
			found, err := client.CoreV1().ConfigMaps("agents").Get(t.Context(), authorityMap, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		_, _ = runningAgents(t, client)
		before := known()
		if before.Data[authorityKey] == "" || before.Annotations[authorityOwner] != DefaultAuthority {
			t.Errorf("%v, %v", before.Annotations, before.Data)
		}
		config := &Agents{Namespace: "agents", Port: 8443, Authority: "other/authority"}
		other, err := newAgents(config, client, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := other.upkeep(t.Context(), time.Now())
			if err == nil || !strings.Contains(err.Error(), DefaultAuthority) {
				t.Errorf("%v", err)
			}
		}
		if after := known(); after.Data[authorityKey] != before.Data[authorityKey] {
			t.Error("the other one's authority is published")
		}
	})
}

// TestFindKeeps: of several pods that run on a node, the newest ready one is chosen, and stays while it runs. Pods of
// other accounts, and addresses that no pod has, are left out.
func TestFindKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := map[string]*corev1.Pod{}
		for i, name := range []string{"old", "young", "starting", "account", "linklocal", "metadata"} {
			pod := agentPod(name, "a", "10.0.0."+string(rune('1'+i)))
			pod.CreationTimestamp = metav1.Time{Time: time.Now().Add(time.Duration(i) * time.Minute)}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			pods[name] = pod
		}
		pods["starting"].Status.Conditions = nil
		pods["account"].Spec.ServiceAccountName = "default"
		pods["linklocal"].Status.PodIP, pods["metadata"].Status.PodIP = "fe80::1", "169.254.169.254"
		client := fake.NewClientset(published())
		a, _ := runningAgents(t, client)
		api := client.CoreV1().Pods("agents")
		add := func(names ...string) {
			t.Helper()
			for _, name := range names {
				if _, err := api.Create(t.Context(), pods[name], metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		want := func(what, address string) {
			t.Helper()
			for range 20 {
				if got, found := a.find("a"); got != address || found != (address != "") {
					t.Fatalf("%s: %q, want %q", what, got, address)
				}
			}
		}
		add("account", "linklocal", "metadata")
		want("none of the agents", "")
		add("starting")
		want("one that is not ready yet", "10.0.0.3:8443")
		add("old", "young")
		want("the one before runs on", "10.0.0.3:8443")
		if err := api.Delete(t.Context(), "starting", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want("it is gone", "10.0.0.2:8443")
	})
}

// TestReview: a token counts if it is for agents alone, of the agents' account, and of an existing pod.
func TestReview(t *testing.T) {
	good := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{selection.Audience},
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:agents:" + agentName,
			Extra: map[string]authenticationv1.ExtraValue{podNameClaim: {"1"}, podUIDClaim: {"uid-1"}}},
	}
	for name, test := range map[string]struct {
		change func(s *authenticationv1.TokenReviewStatus)
		node   string
	}{
		"good":             {func(*authenticationv1.TokenReviewStatus) {}, "a"},
		"invalid":          {func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }, ""},
		"for the API":      {func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"https://kubernetes"} }, ""},
		"without audience": {func(s *authenticationv1.TokenReviewStatus) { s.Audiences = nil }, ""},
		"another account": {func(s *authenticationv1.TokenReviewStatus) {
			s.User.Username = "system:serviceaccount:default:" + agentName
		}, ""},
		"of no pod": {func(s *authenticationv1.TokenReviewStatus) { s.User.Extra = nil }, ""},
		"of a pod that was before": {func(s *authenticationv1.TokenReviewStatus) {
			s.User.Extra = map[string]authenticationv1.ExtraValue{podNameClaim: {"1"}, podUIDClaim: {"uid-0"}}
		}, ""},
		"of a pod that is none": {func(s *authenticationv1.TokenReviewStatus) {
			s.User.Extra = map[string]authenticationv1.ExtraValue{podNameClaim: {"9"}, podUIDClaim: {"uid-9"}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(published(), agentPod("1", "a", "10.0.0.1"))
				client.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
					create, _ := action.(clienttesting.CreateAction)
					review, _ := create.GetObject().(*authenticationv1.TokenReview)
					if review.Spec.Token != "token" || !slices.Equal(review.Spec.Audiences, []string{selection.Audience}) {
						t.Errorf("%+v", review.Spec)
					}
					answer := &authenticationv1.TokenReview{Status: *good.DeepCopy()}
					test.change(&answer.Status)
					return true, answer, nil
				})
				a, _ := runningAgents(t, client)
				if node, err := a.review(t.Context(), "token"); node != test.node || (err == nil) != (test.node != "") {
					t.Errorf("node %q: %v", node, err)
				}
			})
		})
	}
}

func TestAgentsValidate(t *testing.T) {
	for name, test := range map[string]struct {
		agents Agents
		fine   bool
	}{
		"none":            {Agents{}, true},
		"fine":            {Agents{Namespace: "agents", Port: 8443, Authority: DefaultAuthority}, true},
		"no port":         {Agents{Namespace: "agents", Authority: DefaultAuthority}, false},
		"no authority":    {Agents{Namespace: "agents", Port: 8443}, false},
		"half an address": {Agents{Namespace: "agents", Port: 8443, Authority: "agents/"}, false},
	} {
		if err := test.agents.Validate(); (err == nil) != test.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
	if config := (&Config{Source: API, Agents: Agents{Namespace: "agents"}}); config.ReadsAgents() {
		t.Error("agents are read although only metrics.k8s.io should be")
	}
}

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/upkeep"
)

// recommend makes a VerticalPodAutoscaler for the Deployment of the same name that recommends so much for "app".
func recommend(t *testing.T, s *harness.Namespace, name, cpu, memory string) {
	t.Helper()
	s.KubectlInput(fmt.Sprintf(`{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":%q},
		"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":%q}}}`, name, name), "create", "-f", "-")
	amounts := fmt.Sprintf(`{"cpu":%q,"memory":%q}`, cpu, memory)
	s.Kubectl("patch", "vpa", name, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":%s,"lowerBound":%s,"upperBound":%s}]}}}`,
		amounts, amounts, amounts))
}

// pods waits for so many pods of a Deployment.
func pods(s *harness.Namespace, name string, count int) []corev1.Pod {
	var found []corev1.Pod
	s.Eventually(fmt.Sprintf("%d pods of %s", count, name), func(ctx context.Context) error {
		list, err := s.Client.CoreV1().Pods(s.Name).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return err
		}
		if found = list.Items; len(found) != count {
			return fmt.Errorf("%d", len(found))
		}
		return nil
	})
	return found
}

func limited(containers ...corev1.Container) func(*harness.Workload) {
	return func(w *harness.Workload) { w.Containers = containers }
}

// deployment has a container "app" with limits twice as high as its requests.
func deployment(name string, replicas int32, change ...func(*harness.Workload)) *appsv1.Deployment {
	app := harness.Container("app", "100m", "64Mi")
	app.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("200m"), "memory": resource.MustParse("128Mi")}
	w := harness.Workload{Name: name, Replicas: &replicas, Containers: []corev1.Container{app}}
	for _, c := range change {
		c(&w)
	}
	return w.Deployment()
}

func has(list corev1.ResourceList, cpu, memory string) bool {
	return list.Cpu().Cmp(resource.MustParse(cpu)) == 0 && list.Memory().Cmp(resource.MustParse(memory)) == 0
}

// until waits until the server has the recommendation: it reads caches.
func until(t *testing.T, s *harness.Namespace, name, cpu string) {
	t.Helper()
	s.EventuallyWithin(soon, "a pod with what is recommended", func(ctx context.Context) error {
		pod, err := tried(ctx, s, name)
		if err != nil {
			return err
		}
		if got := pod.Spec.Containers[0].Resources.Requests.Cpu(); got.Cmp(resource.MustParse(cpu)) != 0 {
			return fmt.Errorf("requests %s", got)
		}
		return nil
	})
}

// tried is a pod as the API server would create it for a Deployment.
func tried(ctx context.Context, s *harness.Namespace, name string) (*corev1.Pod, error) {
	sets, err := s.Client.AppsV1().ReplicaSets(s.Name).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil || len(sets.Items) == 0 {
		return nil, errors.Join(err, errors.New("no ReplicaSet"))
	}
	set := &sets.Items[0]
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.GenerateName = set.Name + "-"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set,
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	return s.Client.CoreV1().Pods(s.Name).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// TestNewPodsGetWhatIsRecommended, all of them, also the first of a rollout, whose ReplicaSet is not in the cache yet.
func TestNewPodsGetWhatIsRecommended(t *testing.T) {
	s := namespace(t)
	p := start(t, s, "admission-new")
	p.registered(s)
	s.Create(deployment("web", 0))
	// Without an update policy it is given the default.
	recommend(t, s, "web", "150m", "96Mi")
	if mode := s.Kubectl("get", "vpa", "web", "-o", "jsonpath={.spec.updatePolicy.updateMode}"); mode != "Recreate" {
		t.Errorf("mode %q, want Recreate", mode)
	}
	until(t, s, "web", "150m")
	for round, replicas := range []int{3, 5} {
		s.Kubectl("set", "env", "deployment/web", fmt.Sprintf("ROUND=%d", round))
		s.Kubectl("scale", "deployment/web", fmt.Sprintf("--replicas=%d", replicas))
		s.Kubectl("rollout", "status", "deployment/web", "--timeout=60s")
		for _, pod := range pods(s, "web", replicas) {
			r := pod.Spec.Containers[0].Resources
			if !has(r.Requests, "150m", "96Mi") || !has(r.Limits, "300m", "192Mi") {
				t.Errorf("round %d: %s has %+v", round, pod.Name, r)
			}
			const words = "Pod resources updated by web: container 0: cpu request, memory request, cpu limit, memory limit"
			if pod.Annotations["vpaUpdates"] != words || pod.Annotations["vpaObservedContainers"] != "app" {
				t.Errorf("annotations %v", pod.Annotations)
			}
		}
	}
	if n := p.unchanged(t); n != 0 {
		t.Errorf("%v requests were admitted unchanged because something went wrong", n)
	}
	s.EventuallyWithin(soon, "a fresh Lease", func(ctx context.Context) error {
		lease, err := s.Client.CoordinationV1().Leases(own).Get(ctx, "vpa-admission-controller", metav1.GetOptions{})
		if err == nil && time.Since(lease.Spec.RenewTime.Time) > 5*time.Second {
			err = fmt.Errorf("renewed %s ago", time.Since(lease.Spec.RenewTime.Time))
		}
		return err
	})
}

// TestInjectedSidecar: a LimitRange of pods and a container without a recommendation. Upstream's server panics there,
// and its updater dies.
func TestInjectedSidecar(t *testing.T) {
	s := namespace(t)
	p := start(t, s, "admission-sidecar")
	p.registered(s)
	_, err := s.Client.CoreV1().LimitRanges(s.Name).Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
			{Type: corev1.LimitTypePod, Max: corev1.ResourceList{"cpu": resource.MustParse("1"),
				"memory": resource.MustParse("1Gi")}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	app, sidecar := deployment("web", 1).Spec.Template.Spec.Containers[0], harness.Container("proxy", "50m", "32Mi")
	sidecar.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("400m"), "memory": resource.MustParse("64Mi")}
	s.Create(deployment("web", 0, limited(app, sidecar)))
	recommend(t, s, "web", "2", "96Mi")
	// The rest of a limit of 1 beside the sidecar, halved, as the limit is twice the request.
	until(t, s, "web", "300m")
	s.Kubectl("scale", "deployment/web", "--replicas=2")
	for _, pod := range pods(s, "web", 2) {
		if r := pod.Spec.Containers[0].Resources; !has(r.Requests, "300m", "96Mi") || !has(r.Limits, "600m", "192Mi") {
			t.Errorf("app has %+v", r)
		}
		if r := pod.Spec.Containers[1].Resources; !has(r.Requests, "50m", "32Mi") || !has(r.Limits, "400m", "64Mi") {
			t.Errorf("the sidecar has %+v", r)
		}
	}
	if n := p.unchanged(t); n != 0 {
		t.Errorf("%v requests were admitted unchanged because something went wrong", n)
	}
}

// TestDeadServerLosesNoPods: it is killed and does not come back.
func TestDeadServerLosesNoPods(t *testing.T) {
	s := namespace(t)
	p := start(t, s, "admission-dead")
	p.registered(s)
	s.Create(deployment("web", 0))
	recommend(t, s, "web", "150m", "96Mi")
	until(t, s, "web", "150m")
	p.program.Kill()
	s.Kubectl("scale", "deployment/web", "--replicas=3")
	for _, pod := range pods(s, "web", 3) {
		if r := pod.Spec.Containers[0].Resources; !has(r.Requests, "100m", "64Mi") {
			t.Errorf("%+v, want a pod as it is in the template", r)
		}
	}
}

// warned is a client that stores the API server's warnings.
type warned struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (w *warned) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

// TestAutoscalersAreChecked: with upstream's messages, and with warnings.
func TestAutoscalersAreChecked(t *testing.T) {
	s := namespace(t)
	start(t, s, "admission-checked").registered(s)
	s.Create(&autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "wide"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    ptr.To[int32](1), MaxReplicas: 3,
			Metrics: []autoscalingv2.MetricSpec{harness.Resource(corev1.ResourceCPU, harness.Utilization(80))},
		},
	})
	config, err := clientcmd.BuildConfigFromFlags("", s.Cluster.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	heard := &warned{}
	config.WarningHandler = heard
	config.APIPath, config.GroupVersion = "/apis", &vpav1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // errors are all that is read
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	create := func(name, spec string) error {
		body := fmt.Sprintf(`{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":%q},
			"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}%s}}`, name, spec)
		return client.Post().Namespace(s.Name).Resource(vpav1.VerticalPodAutoscalers).Body([]byte(body)).Do(
			t.Context()).Error()
	}
	const words = `spec.resourcePolicy.containerPolicies[0].maxAllowed[cpu]: Invalid value: "1": max resource for cpu is lower than min of "2"`
	// The API server may still call the server that was registered before, and admits the pod if that does not answer.
	s.EventuallyWithin(soon, "a bad object that is kept out", func(context.Context) error {
		err := create(fmt.Sprintf("bad-%d", time.Now().UnixNano()),
			`,"resourcePolicy":{"containerPolicies":[{"containerName":"app","minAllowed":{"cpu":"2"},"maxAllowed":{"cpu":"1"}}]}`)
		switch {
		case err == nil:
			return errors.New("it was admitted")
		case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), words):
			return fmt.Errorf("want it kept out with %q: %w", words, err)
		}
		return nil
	})
	s.EventuallyWithin(soon, "both warnings", func(context.Context) error {
		heard.texts = nil
		if err := create(fmt.Sprintf("auto-%d", time.Now().UnixNano()), `,"updatePolicy":{"updateMode":"Auto"}`); err != nil {
			return err
		}
		all := strings.Join(heard.texts, "\n")
		for _, part := range []string{`"Auto" mode is deprecated`,
			"HorizontalPodAutoscaler wide has a Utilization target on the cpu request"} {
			if !strings.Contains(all, part) {
				return fmt.Errorf("%q is not in %q", part, all)
			}
		}
		return nil
	})
}

// TestRotation: two servers share certificates that are renewed each ten seconds, their authority each half minute.
// Every server that is called is trusted, every time.
func TestRotation(t *testing.T) {
	s := namespace(t)
	const lifetime = 15 * time.Second
	flags := []string{"--webhook-cert-lifetime=" + lifetime.String()}
	first := start(t, s, "admission-rotation", flags...)
	first.registered(s)
	second := start(t, s, "admission-rotation-2", append(flags, "--register-webhook=false")...)
	s.Create(deployment("web", 0))
	recommend(t, s, "web", "150m", "96Mi")
	until(t, s, "web", "150m")

	began, certificates, authorities, created := time.Now(), map[string]bool{}, map[string]bool{}, 0
	s.EventuallyWithin(2*time.Minute, "a new authority, and pods all the while", func(ctx context.Context) error {
		pod, err := tried(ctx, s, "web")
		if err != nil {
			t.Fatal(err)
		}
		if created++; !has(pod.Spec.Containers[0].Resources.Requests, "150m", "96Mi") {
			t.Fatalf("after %s the server was not believed: %+v", time.Since(began), pod.Spec.Containers[0].Resources)
		}
		shown := map[string]string{"first": first.shown(t), "second": second.shown(t)}
		configuration, err := registration(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		bundle := configuration.Webhooks[0].ClientConfig.CABundle
		authorities[string(bundle)] = true
		for name, raw := range shown {
			if err := believed(bundle, raw); err != nil {
				t.Fatalf("after %s the %s server is not believed: %v", time.Since(began), name, err)
			}
			certificates[raw] = true
		}
		if len(certificates) < 4 || len(authorities) < 4 {
			return fmt.Errorf("%d certificates and %d sets of authorities so far", len(certificates), len(authorities))
		}
		return nil
	})
	t.Logf("%d pods during %d certificates and %d sets of authorities, %s", created, len(certificates), len(authorities),
		time.Since(began))
	if n := first.unchanged(t); n != 0 {
		t.Errorf("%v requests were admitted unchanged because something went wrong", n)
	}
}

// TestConfigurationIsChangedInPlace: a change by another client is reverted, it is never another object, and nothing is
// written while all is well.
func TestConfigurationIsChangedInPlace(t *testing.T) {
	s := namespace(t)
	// Another test's certificates would be replaced now.
	if err := s.Client.CoreV1().Secrets(own).Delete(t.Context(), secret, metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	start(t, s, "admission-in-place", "--webhook-cert-lifetime=30s").registered(s)
	before, err := registration(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	spoilt, err := json.Marshal(map[string]any{"webhooks": []any{map[string]any{
		"name": upkeep.WebhookName, "failurePolicy": "Fail", "timeoutSeconds": 30,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().
		Patch(t.Context(), upkeep.ConfigurationName, types.StrategicMergePatchType, spoilt, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var mended string
	s.EventuallyWithin(soon, "a mended configuration", func(ctx context.Context) error {
		now, err := registration(ctx, s)
		if err != nil {
			return err
		}
		w := now.Webhooks[0]
		if now.UID != before.UID || *w.FailurePolicy != "Ignore" || *w.TimeoutSeconds != 5 {
			return fmt.Errorf("UID %s, policy %s, %d s", now.UID, *w.FailurePolicy, *w.TimeoutSeconds)
		}
		if e := w.NamespaceSelector.MatchExpressions; len(e) != 1 || e[0].Operator != metav1.LabelSelectorOpNotIn ||
			e[0].Values[0] != own {
			return fmt.Errorf("namespaces %+v", e)
		}
		mended = now.ResourceVersion
		return nil
	})
	// It checks every second.
	s.Holds(5*time.Second, "unwritten", func(ctx context.Context) error {
		now, err := registration(ctx, s)
		if err == nil && now.ResourceVersion != mended {
			err = fmt.Errorf("written again: %s", now.ResourceVersion)
		}
		return err
	})
}

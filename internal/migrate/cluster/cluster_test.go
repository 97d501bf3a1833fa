package cluster

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
)

const (
	hpaKind = "HorizontalPodAutoscaler"
	hpaPath = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
	wlaPath = "/apis/plimsoll.dev/v1alpha1/namespaces/shop/workloadautoscalers"
)

// server responds by method and path, and records the bodies of requests.
type server struct {
	answers map[string]string
	bodies  map[string]string
	// code is the status of each response; 200 by default.
	code int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	at := r.Method + " " + r.URL.Path
	s.bodies[at] = string(body)
	w.Header().Set("Content-Type", "application/json")
	answer, has := s.answers[at]
	switch {
	case r.URL.Path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		// Deletions are forbidden.
		allowed := !strings.Contains(string(body), `delete`)
		answer = `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":` +
			map[bool]string{true: "true", false: "false"}[allowed] + `}}`
		w.WriteHeader(http.StatusCreated)
	case !has:
		w.WriteHeader(http.StatusNotFound)
		answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	case s.code != 0:
		w.WriteHeader(s.code)
	}
	_, _ = io.WriteString(w, answer)
}

func serve(t *testing.T, answers map[string]string) (*Client, *server) {
	t.Helper()
	s := &server{answers: answers, bodies: map[string]string{}}
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	client, err := New(&rest.Config{Host: listening.URL,
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return client, s
}

const storedHPA = `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",
	"metadata":{"namespace":"shop","name":"web","uid":"u1","resourceVersion":"7"},"spec":{"maxReplicas":5}}`

const storedWLA = `{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscaler",
	"metadata":{"namespace":"shop","name":"web","uid":"u2","resourceVersion":"9","generation":3},"spec":{"maxReplicas":5}}`

// sent returns the JSON that was sent.
func (s *server) sent(t *testing.T, at string) map[string]any {
	t.Helper()
	var sent map[string]any
	if err := json.Unmarshal([]byte(s.bodies[at]), &sent); err != nil {
		t.Fatalf("%s: %v: %q", at, err, s.bodies[at])
	}
	return sent
}

// A write that depends on the read object has its precondition: a deletion the resource version, a change of mode the
// fields that it depends on.
func TestWritesNameWhatWasRead(t *testing.T) {
	const ok = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	marked := strings.Replace(storedWLA, `"uid"`, `"annotations":{"`+convert.Migrating+`":"forward"},"uid"`, 1)
	all, s := serve(t, map[string]string{
		"GET " + hpaPath + "/web": storedHPA, "GET " + wlaPath + "/web": marked,
		"DELETE " + hpaPath + "/web": ok, "DELETE " + wlaPath + "/web": ok, "PATCH " + wlaPath + "/web": storedWLA,
		"POST " + hpaPath: storedHPA,
	})
	ctx, client := t.Context(), all.Originals(hpaKind)
	state, err := client.State(ctx, types.NamespacedName{Namespace: "shop", Name: "web"})
	if err != nil || state.HPA == nil || state.WorkloadAutoscaler == nil {
		t.Fatalf("%+v, %v", state, err)
	}
	for _, write := range []func(context.Context) error{
		func(ctx context.Context) error { return client.Remove(ctx, state) },
		func(ctx context.Context) error { return client.DeleteWorkloadAutoscaler(ctx, state.WorkloadAutoscaler) },
		func(ctx context.Context) error {
			return client.SetMode(ctx, state.WorkloadAutoscaler, plimsollv1alpha1.ModeActive, "")
		},
		func(ctx context.Context) error {
			return client.Restore(ctx, &steps.State{Kind: hpaKind}, convert.Manifest(state.HPA))
		},
	} {
		if err := write(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string]map[string]any{
		"DELETE " + hpaPath + "/web": {"uid": "u1", "resourceVersion": "7"},
		"DELETE " + wlaPath + "/web": {"uid": "u2", "resourceVersion": "9"},
	} {
		if d := cmp.Diff(any(want), s.sent(t, at)["preconditions"]); d != "" {
			t.Errorf("%s: %s", at, d)
		}
	}
	const want = `[{"op":"test","path":"/metadata/uid","value":"u2"},{"op":"test","path":"/metadata/generation","value":3},` +
		`{"op":"test","path":"/metadata/annotations/plimsoll.dev~1migrating","value":"forward"},` +
		`{"op":"add","path":"/spec/mode","value":"Active"},` +
		`{"op":"remove","path":"/metadata/annotations/plimsoll.dev~1migrating"}]`
	if d := cmp.Diff(want, s.bodies["PATCH "+wlaPath+"/web"]); d != "" {
		t.Error(d)
	}
	metadata := s.sent(t, "POST "+hpaPath)["metadata"].(map[string]any)
	if metadata["uid"] != nil || metadata["resourceVersion"] != nil {
		t.Errorf("%v", metadata)
	}
}

// If the mode or the mark has changed meanwhile, the error is a conflict. An invalid object is still invalid.
func TestConflictOfModes(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422`
	for answer, isConflict := range map[string]bool{
		status + `}`: true,
		status + `,"details":{"causes":[{"reason":"FieldValueInvalid","field":"spec.mode"}]}}`: false,
	} {
		client, s := serve(t, map[string]string{"PATCH " + wlaPath + "/web": answer})
		s.code = http.StatusUnprocessableEntity
		read := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		err := client.SetMode(t.Context(), read, plimsollv1alpha1.ModeActive, convert.Forward)
		if err == nil || apierrors.IsConflict(err) != isConflict {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// A missing object is nil; one that cannot be read is an error.
func TestState(t *testing.T) {
	client, _ := serve(t, nil)
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	if state, err := client.Originals(hpaKind).State(t.Context(), name); err != nil || state.HPA != nil ||
		state.WorkloadAutoscaler != nil {
		t.Errorf("%+v, %v", state, err)
	}
	unreadable := strings.Replace(storedWLA, `"maxReplicas":5`, `"maxReplicas":"many"`, 1)
	client, _ = serve(t, map[string]string{"GET " + wlaPath + "/web": unreadable})
	if state, err := client.Originals(hpaKind).State(t.Context(), name); err == nil {
		t.Errorf("%+v", state)
	}
}

// Lists have kind and version in each item, and only what replaced an HPA is migrated.
// TestAuthentications: those of the namespace and of the cluster are read, and what cannot be read is left out.
func TestAuthentications(t *testing.T) {
	client, _ := serve(t, map[string]string{
		"GET /apis/keda.sh/v1alpha1/namespaces/shop/triggerauthentications/own": `{"kind":"TriggerAuthentication",
			"apiVersion":"keda.sh/v1alpha1","metadata":{"name":"own"}}`,
		"GET /apis/keda.sh/v1alpha1/clustertriggerauthentications/shared": `{"kind":"ClusterTriggerAuthentication",
			"apiVersion":"keda.sh/v1alpha1","metadata":{"name":"shared"}}`,
	})
	references := []any{
		map[string]any{"name": "own"}, map[string]any{"name": "shared", "kind": "ClusterTriggerAuthentication"},
		map[string]any{"name": "missing"}, map[string]any{"name": "own", "kind": "Another"},
	}
	triggers := make([]any, 0, len(references))
	for _, reference := range references {
		triggers = append(triggers, map[string]any{"authenticationRef": reference})
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "shop"}, "spec": map[string]any{"triggers": triggers},
	}}
	names := map[string]string{}
	for to, read := range client.Authentications(t.Context(), object) {
		names[to.String()] = read.GetName()
	}
	want := map[string]string{"TriggerAuthentication own": "own", "ClusterTriggerAuthentication shared": "shared"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestLists(t *testing.T) {
	migrated := strings.Replace(storedWLA, `"uid"`, `"annotations":{"`+convert.MigratedFrom+
		`":"{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",`+
		`\"metadata\":{\"namespace\":\"shop\",\"name\":\"web\"}}"},"uid"`, 1)
	client, _ := serve(t, map[string]string{
		"GET " + hpaPath: `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscalerList","metadata":{},"items":[` +
			strings.Replace(storedHPA, `"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",`, "", 1) + `]}`,
		"GET " + wlaPath: `{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscalerList","metadata":{},"items":[` +
			storedWLA + `,` + migrated + `]}`,
	})
	hpas, err := client.HPAs(t.Context(), "shop", "")
	if err != nil || len(hpas) != 1 || hpas[0].GetKind() != "HorizontalPodAutoscaler" ||
		hpas[0].GetAPIVersion() != "autoscaling/v2" {
		t.Errorf("%v, %v", hpas, err)
	}
	all, err := client.Originals(hpaKind).Migrated(t.Context(), "shop", "")
	if err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	damaged := strings.Replace(storedWLA, `"uid"`, `"annotations":{"`+convert.MigratedFrom+`":"{"},"uid"`, 1)
	client, _ = serve(t, map[string]string{
		"GET " + wlaPath: `{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscalerList","metadata":{},"items":[` +
			damaged + `]}`,
	})
	for kind, want := range map[string]int{hpaKind: 1, keda.Kind: 0} {
		if all, err := client.Originals(kind).Migrated(t.Context(), "shop", ""); err != nil || len(all) != want {
			t.Errorf("%s, with a damaged annotation: %v, %v", kind, all, err)
		}
	}
	empty, _ := serve(t, nil)
	if all, err := empty.Originals(hpaKind).Migrated(t.Context(), "shop", ""); err != nil || len(all) != 0 {
		t.Errorf("without the definition: %v, %v", all, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetNamespace("shop")
	object.SetName("web")
	if hpa := empty.HPAOf(t.Context(), object); hpa != nil {
		t.Errorf("%v", hpa)
	}
}

// Each permission that is missing is named, with its namespace.
func TestMissingPermissions(t *testing.T) {
	client, _ := serve(t, nil)
	err := client.Originals(hpaKind).CheckPermissions(t.Context(), []string{"bank", "shop"}, false)
	const want = `you may not delete workloadautoscalers.plimsoll.dev in namespace bank
you may not delete workloadautoscalers.plimsoll.dev in namespace shop
you may not delete horizontalpodautoscalers.autoscaling in namespace bank
you may not delete horizontalpodautoscalers.autoscaling in namespace shop`
	var got []string
	cmderror.Each(err, func(e *cmderror.Error) {
		got = append(got, e.What)
		if !strings.Contains(e.Next, "kubectl auth can-i delete ") {
			t.Errorf("%s: %s", e.What, e.Next)
		}
	})
	if strings.Join(got, "\n") != want {
		t.Errorf("got  %q\nwant %s", got, want)
	}
}

// TestCheckTarget: a target that is known to be missing, or to have no scale, is refused; an unknown one is not.
func TestCheckTarget(t *testing.T) {
	client, _ := serve(t, map[string]string{
		"GET /apis/apps/v1": `{"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [
			{"name": "deployments", "kind": "Deployment", "namespaced": true}, {"name": "deployments/scale", "kind": "Scale"},
			{"name": "daemonsets", "kind": "DaemonSet", "namespaced": true}]}`,
		"GET /apis/apps/v1/namespaces/shop/deployments/web/scale": `{"kind": "Scale", "apiVersion": "autoscaling/v1"}`,
	})
	for target, want := range map[[3]string]string{
		{"apps/v1", "Deployment", "web"}:        "",
		{"apps/v1", "deployment", "web"}:        "",
		{"apps/v1", "Deployment", "api"}:        "Deployment api, does not exist",
		{"apps/v1", "DaemonSet", "web"}:         "DaemonSet, which has no scale",
		{"apps/v1", "Robot", "web"}:             "",
		{"example.com/v1", "Deployment", "api"}: "",
		{"a/b/c", "Deployment", "api"}:          "",
	} {
		hpa := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"scaleTargetRef": map[string]any{
			"apiVersion": target[0], "kind": target[1], "name": target[2]}}}}
		hpa.SetNamespace("shop")
		err := client.CheckTarget(t.Context(), hpa)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", target, err, want)
		}
		if apierrors.IsNotFound(err) {
			t.Errorf("%q: the step would be repeated: %v", target, err)
		}
	}
}

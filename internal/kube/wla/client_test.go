package wla

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// stored is an object as the API server returns it. Its metric has this target, as JSON.
func stored(name, target, status string) string {
	return fmt.Sprintf(`{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscaler",
		"metadata":{"namespace":"shop","name":%q,"resourceVersion":"1"},
		"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":%q},"maxReplicas":5,"metrics":[
			{"type":"External","external":{"metric":{"name":"jobs"},"target":{"type":"Value","value":%s}}}]},
		"status":%s}`, name, name, target, status)
}

func listed(items ...string) string {
	return `{"apiVersion":"plimsoll.dev/v1alpha1","kind":"WorkloadAutoscalerList","metadata":{"resourceVersion":"5"},` +
		`"items":[` + strings.Join(items, ",") + `]}`
}

// serve makes a client of a server with these responses by path, and this one stream.
func serve(t *testing.T, answers map[string]string, stream string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, has := answers[r.URL.Path]
		switch {
		case r.URL.Query().Get("watch") != "":
			answer = stream
		case !has:
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

const path = "/apis/plimsoll.dev/v1alpha1"

// unreadable are targets that cannot be decoded, or not within a reasonable time.
var unreadable = map[string]string{
	"takes hours to read":    `"1e-999999999"`,
	"takes hours to compare": `"1e999999999"`,
	"a megabyte of digits":   `"` + strings.Repeat("9", 1<<20) + `"`,
	"a number":               `1e-999999999`,
	"no quantity":            `"a lot"`,
	"an object":              `{}`,
}

// One object that cannot be decoded does not prevent reading the others, in a list and in a watch. It has no spec, and
// has the reason.
func TestObjectsThatCannotBeRead(t *testing.T) {
	for why, target := range unreadable {
		t.Run(why, func(t *testing.T) {
			bad := stored("bad", target, `{"desiredReplicas":3}`)
			client := serve(t, map[string]string{
				path + "/namespaces/shop/workloadautoscalers":     listed(stored("a", `"1"`, `{}`), bad, stored("z", `"2"`, `{}`)),
				path + "/namespaces/shop/workloadautoscalers/bad": bad,
			}, `{"type":"ADDED","object":`+bad+"}\n"+`{"type":"ADDED","object":`+stored("new", `"3"`, `{}`)+"}\n")
			objects := client.WorkloadAutoscalers("shop")
			list, err := objects.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 3 || list.ResourceVersion != "5" {
				t.Fatalf("%+v, %v", list, err)
			}
			isGood(t, &list.Items[0], "a")
			isBad(t, &list.Items[1])
			isGood(t, &list.Items[2], "z")
			got, err := objects.Get(t.Context(), "bad", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			isBad(t, got)
			events, err := objects.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer events.Stop()
			isBad(t, (<-events.ResultChan()).Object.(*plimsollv1alpha1.WorkloadAutoscaler))
			isGood(t, (<-events.ResultChan()).Object.(*plimsollv1alpha1.WorkloadAutoscaler), "new")
		})
	}
}

func isGood(t *testing.T, object *plimsollv1alpha1.WorkloadAutoscaler, name string) {
	t.Helper()
	if object.Name != name || object.Unreadable != "" || len(object.Spec.Metrics) != 1 || object.Spec.MaxReplicas != 5 {
		t.Errorf("%+v", object)
	}
}

func isBad(t *testing.T, object *plimsollv1alpha1.WorkloadAutoscaler) {
	t.Helper()
	if object.Name != "bad" || !strings.HasPrefix(object.Unreadable, "spec") || object.Spec.MaxReplicas != 0 ||
		object.Spec.Metrics != nil || object.Status.DesiredReplicas != 3 {
		t.Errorf("%+v", object)
	}
}

// A status that cannot be decoded is empty, and the spec is in effect.
func TestStatusThatCannotBeReadIsEmpty(t *testing.T) {
	client := serve(t, map[string]string{
		path + "/namespaces/shop/workloadautoscalers/web": stored("web", `"1"`, `{"desiredReplicas":3,"metrics":[{"name":"jobs",
			"type":"External","value":"1e-999999999"}]}`),
	}, "")
	object, err := client.WorkloadAutoscalers("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || object.Status.DesiredReplicas != 0 || object.Status.Metrics != nil {
		t.Fatalf("%+v, %v", object, err)
	}
	isGood(t, object, "web")
}

// Fields of a newer version are left out, and the rest is read.
func TestFieldsOfANewerVersion(t *testing.T) {
	newer := strings.Replace(stored("web", `"1"`, `{"desiredReplicas":3,"later":{"a":[1]}}`), `"spec":{`,
		`"spec":{"later":{"b":"c"},`, 1)
	if !strings.Contains(newer, `"later":{"b":"c"}`) {
		t.Fatalf("nothing was added to %s", newer)
	}
	client := serve(t, map[string]string{path + "/namespaces/shop/workloadautoscalers/web": newer}, "")
	object, err := client.WorkloadAutoscalers("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || object.Status.DesiredReplicas != 3 {
		t.Fatalf("%+v, %v", object, err)
	}
	isGood(t, object, "web")
}

func TestServed(t *testing.T) {
	for what, c := range map[string]struct {
		answers map[string]string
		want    bool
	}{
		"no group":         {nil, false},
		"another resource": {map[string]string{path: `{"resources":[{"name":"others"}]}`}, false},
		"served":           {map[string]string{path: `{"resources":[{"name":"workloadautoscalers"}]}`}, true},
	} {
		served, err := serve(t, c.answers, "").Served(t.Context())
		if err != nil || served != c.want {
			t.Errorf("%s: %v, %v", what, served, err)
		}
	}
	if _, err := serve(t, map[string]string{path: `{`}, "").Served(t.Context()); err == nil {
		t.Error("no error for a truncated response")
	}
}

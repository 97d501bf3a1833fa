package checkpoints

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

const path = "/apis/plimsoll.dev/v1alpha1"

// call is a request that the server got.
type call struct {
	method, path, query string
	body                []byte
}

// serve makes a client of a server with these answers, and returns the calls that it received.
func serve(t *testing.T, answer func(call) (status int, body string)) (*Client, *[]call) {
	t.Helper()
	var calls []call
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got := call{r.Method, r.URL.Path, r.URL.RawQuery, body}
		calls = append(calls, got)
		status, text := answer(got)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, &calls
}

// stored returns a checkpoint with this data, which are fields of spec.
func stored(name, data string) string {
	return fmt.Sprintf(`{"apiVersion":"plimsoll.dev/v1alpha1","kind":"AutoscalerCheckpoint",
		"metadata":{"namespace":"shop","name":%q,"resourceVersion":"7"},
		"spec":{"autoscaler":{"kind":"HorizontalPodAutoscaler","name":"web","uid":"u"}%s}}`, name, data)
}

func listed(next string, items ...string) string {
	return `{"apiVersion":"plimsoll.dev/v1alpha1","kind":"AutoscalerCheckpointList","metadata":{"continue":"` + next +
		`"},"items":[` + strings.Join(items, ",") + `]}`
}

// All pages are read, and one object that cannot be decoded does not prevent reading the others.
func TestEach(t *testing.T) {
	client, calls := serve(t, func(c call) (int, string) {
		if strings.Contains(c.query, "continue=more") {
			return http.StatusOK, listed("", stored("last", `,"lastUpdateTime":"2026-11-20T12:00:00Z","history":"AQI="`))
		}
		return http.StatusOK, listed("more", stored("first", `,"forecast":"AwQ="`), stored("base", `,"history":"?"`),
			stored("time", `,"lastUpdateTime":"yesterday","history":"AQI="`))
	})
	found := map[string]*plimsollv1alpha1.AutoscalerCheckpoint{}
	err := client.Each(t.Context(), func(c *plimsollv1alpha1.AutoscalerCheckpoint) { found[c.Name] = c })
	if err != nil || len(found) != 4 || len(*calls) != 2 {
		t.Fatalf("%v after %d calls: %v", found, len(*calls), err)
	}
	if !strings.Contains((*calls)[0].query, "limit=100") {
		t.Errorf("a page without a limit: %s", (*calls)[0].query)
	}
	for _, name := range []string{"base", "time"} {
		if c := found[name]; c.Unreadable == "" || c.Spec.History != nil || c.Spec.Autoscaler.Name != "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := found["last"]; c.Unreadable != "" || string(c.Spec.History) != "\x01\x02" ||
		c.Spec.LastUpdateTime.Unix() != 1795176000 || c.ResourceVersion != "7" {
		t.Errorf("%+v", c)
	}
	if forecast := string(found["first"].Spec.Forecast); forecast != "\x03\x04" {
		t.Errorf("%q", forecast)
	}
}

// A list that takes longer than the API server keeps its version continues at the same place, once a page.
func TestExpiredPage(t *testing.T) {
	expired := func(next string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"metadata":{"continue":"` +
			next + `"}}`
	}
	for why, c := range map[string]struct {
		answers map[string]string
		found   int
		isError bool
	}{
		"goes on": {map[string]string{"": listed("b", stored("one", ``)), "b": expired("b2"),
			"b2": listed("c", stored("two", ``)), "c": expired("c2"), "c2": listed("", stored("three", ``))}, 3, false},
		"nowhere to go on":  {map[string]string{"": listed("b", stored("one", ``)), "b": expired("")}, 1, true},
		"expired each time": {map[string]string{"": listed("b", stored("one", ``)), "b": expired("b")}, 1, true},
	} {
		client, calls := serve(t, func(got call) (int, string) {
			query, err := url.ParseQuery(got.query)
			if err != nil {
				t.Error(err)
			}
			answer := c.answers[query.Get("continue")]
			if strings.Contains(answer, "Expired") {
				return http.StatusGone, answer
			}
			return http.StatusOK, answer
		})
		found := 0
		err := client.Each(t.Context(), func(*plimsollv1alpha1.AutoscalerCheckpoint) { found++ })
		if (err != nil) != c.isError || err != nil && !apierrors.IsResourceExpired(err) || found != c.found {
			t.Errorf("%s: %d found after %d calls: %v", why, found, len(*calls), err)
		}
	}
}

// A refusal keeps its reason, on which the next step depends.
func TestRefusals(t *testing.T) {
	client, _ := serve(t, func(call) (int, string) {
		return http.StatusForbidden,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	})
	object := &plimsollv1alpha1.AutoscalerCheckpoint{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hpa-web"}}
	name := types.NamespacedName{Namespace: "shop", Name: "hpa-web"}
	_, getting := client.Get(t.Context(), name)
	_, creating := client.Create(t.Context(), object)
	_, replacing := client.Replace(t.Context(), object)
	for what, err := range map[string]error{
		"list":   client.Each(t.Context(), func(*plimsollv1alpha1.AutoscalerCheckpoint) {}),
		"get":    getting,
		"create": creating, "replace": replacing, "delete": client.Delete(t.Context(), name, "u"),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Written objects have their kind, version and namespace.
func TestWrites(t *testing.T) {
	client, calls := serve(t, func(call) (int, string) { return http.StatusOK, stored("hpa-web", ``) })
	object := &plimsollv1alpha1.AutoscalerCheckpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hpa-web"},
		Spec:       plimsollv1alpha1.AutoscalerCheckpointSpec{History: []byte{1, 2}},
	}
	for _, write := range []func() (string, error){
		func() (string, error) { return client.Create(t.Context(), object) },
		func() (string, error) { return client.Replace(t.Context(), object) },
	} {
		if version, err := write(); err != nil || version != "7" {
			t.Errorf("version %q, %v", version, err)
		}
	}
	if err := client.Delete(t.Context(), NameOf(observe.HPA("shop", "web")), "u-1"); err != nil {
		t.Error(err)
	}
	all := path + "/namespaces/shop/autoscalercheckpoints"
	for i, want := range []call{{method: "POST", path: all}, {method: "PUT", path: all + "/hpa-web"},
		{method: "DELETE", path: all + "/hpa-web"}} {
		got := (*calls)[i]
		if got.method != want.method || got.path != want.path {
			t.Errorf("%s %s, want %s %s", got.method, got.path, want.method, want.path)
		}
		body := struct {
			Kind          string
			Spec          struct{ History string }
			Preconditions struct{ UID string }
		}{}
		if err := json.Unmarshal(got.body, &body); err != nil {
			t.Fatal(err)
		}
		if i < 2 && (body.Kind != "AutoscalerCheckpoint" || body.Spec.History != "AQI=") ||
			i == 2 && body.Preconditions.UID != "u-1" {
			t.Errorf("%s sends %s", got.method, got.body)
		}
	}
}

// Names are valid, and those of different autoscalers differ.
func TestNames(t *testing.T) {
	// The truncated parts of these names end in a character that no name may end in.
	dash, dot := strings.Repeat("a", 231)+"-", strings.Repeat("a", 231)+"."
	names := map[types.NamespacedName]observe.Key{}
	for _, key := range []observe.Key{
		observe.HPA("shop", "web"), observe.WLA("shop", "web"), observe.HPA("other", "web"),
		observe.HPA("shop", strings.Repeat("a", 249)), observe.HPA("shop", strings.Repeat("a", 250)),
		observe.HPA("shop", strings.Repeat("a", 252)+"b"), observe.WLA("shop", strings.Repeat("a", 252)+"b"),
		observe.HPA("shop", strings.Repeat("a.", 126)+"a"), observe.HPA("shop", dash+strings.Repeat("b", 20)),
		observe.HPA("shop", dot+strings.Repeat("b", 20)),
	} {
		name := NameOf(key)
		if problems := validation.IsDNS1123Subdomain(name.Name); len(problems) > 0 {
			t.Errorf("%s: %q", name.Name, problems)
		}
		if other, isTaken := names[name]; isTaken || name.Namespace != key.Namespace {
			t.Errorf("%v and %v have the name %s", key, other, name)
		}
		names[name] = key
	}
	if name := NameOf(observe.HPA("shop", "web")); name.Name != "hpa-web" {
		t.Error(name)
	}
}

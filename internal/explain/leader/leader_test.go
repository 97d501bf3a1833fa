package leader

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestReachOnThisMachine: a leader that runs beside the cluster is reached at its loopback address only.
func TestReachOnThisMachine(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	finder := Finder{Namespace: "plimsoll-system", Lease: "plimsoll-controller", Port: 1234}
	finder.Client = fake.NewClientset(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: finder.Namespace, Name: finder.Lease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(host + "_0a1b")},
	})
	leader, err := finder.reach(t.Context())
	if err != nil || leader.address != "127.0.0.1:1234" {
		t.Fatalf("%+v, %v", leader, err)
	}
	leader.stop()
	finder.Address = "127.0.0.1:99"
	if leader, err := finder.reach(t.Context()); err != nil || leader.address != finder.Address {
		t.Errorf("an address that is given: %+v, %v", leader, err)
	}
	finder.Address, finder.Client = "", fake.NewClientset()
	if _, err := finder.reach(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "there is no Lease plimsoll-system/plimsoll-controller") ||
		!strings.Contains(err.Error(), "where Plimsoll is not installed there is none") {
		t.Errorf("no Lease: %v", err)
	}
}

// TestRedirectsAreNotFollowed: the program on the controller's port may be another one, of another user.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer server.Close()
	finder := Finder{Address: strings.TrimPrefix(server.URL, "http://")}
	_, err := finder.Next(t.Context(), observe.WLA("shop", "web"))
	if err == nil || !strings.Contains(err.Error(), "answers 302") || len(paths) != 1 ||
		paths[0] != "/workloadautoscalers/shop/web/snapshot" {
		t.Errorf("%v, after %q", err, paths)
	}
}

// TestHistory: the result is the controller's response, of which at most the largest size of a history is read.
func TestHistory(t *testing.T) {
	length := 3
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/horizontalpodautoscalers/shop/web/history" {
			http.NotFound(w, r)
			return
		}
		if length == 4 {
			w.Header().Set("Plimsoll-History", "since-start")
		}
		_, _ = w.Write(make([]byte, length))
	}))
	defer server.Close()
	finder := Finder{Address: strings.TrimPrefix(server.URL, "http://")}
	for _, length = range []int{3, 4} {
		encoded, isWhole, err := finder.History(t.Context(), observe.HPA("shop", "web"))
		if err != nil || len(encoded) != length || isWhole != (length == 3) {
			t.Errorf("%d bytes, whole: %v, %v", len(encoded), isWhole, err)
		}
	}
	if _, _, err := finder.History(t.Context(), observe.HPA("shop", "api")); err == nil ||
		!strings.Contains(err.Error(), "answers 404") {
		t.Errorf("of an object without one: %v", err)
	}
	length = maxHistoryBytes + 1
	if _, _, err := finder.History(t.Context(), observe.HPA("shop", "web")); err == nil ||
		!strings.Contains(err.Error(), "more than 64 KiB") {
		t.Errorf("too much of it: %v", err)
	}
}

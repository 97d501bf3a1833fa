package vpa

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// unreadable are values of minAllowed.cpu, as JSON.
var unreadable = map[string]string{
	"takes hours to read":      `"1e-999999999"`,
	"takes hours to compare":   `"1e999999999"`,
	"a capital":                `"1E-1000000"`,
	"a megabyte of digits":     `"` + strings.Repeat("9", 1<<20) + `"`,
	"escaped":                  `"1\u0065-999999999"`,
	"a number":                 `1e-999999999`,
	"no quantity":              `"a lot"`,
	"an object":                `{"a":"1e-999999999"}`,
	"nothing with an exponent": `"0e-999999999"`,
}

func stored(name, version, cpu string) string {
	return fmt.Sprintf(`{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler",
		"metadata":{"namespace":"shop","name":%q,"uid":"u-%s","resourceVersion":%q},
		"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":%q},
			"resourcePolicy":{"containerPolicies":[{"containerName":"*","minAllowed":{"cpu":%s}}]}},
		"status":{"conditions":[{"type":"RecommendationProvided","status":"True"}]}}`, name, name, version, name, cpu)
}

func listed(items ...string) string {
	return `{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscalerList","metadata":{"resourceVersion":"5"},"items":[` +
		strings.Join(items, ",") + `]}`
}

// apiServer sends its objects as a list or, if it streams, as events, and then further events from the test.
type apiServer struct {
	objects []string
	streams bool
	events  chan string
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	if query.Get("watch") == "" {
		_, _ = io.WriteString(w, listed(s.objects...))
		return
	}
	flusher, _ := w.(http.Flusher)
	if query.Get("sendInitialEvents") != "" {
		if !s.streams {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
			return
		}
		for _, object := range s.objects {
			_, _ = io.WriteString(w, `{"type":"ADDED","object":`+object+"}\n")
		}
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler",
			"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"targetRef":null}}}`+"\n")
	}
	flusher.Flush()
	for {
		select {
		case event := <-s.events:
			_, _ = io.WriteString(w, event+"\n")
			flusher.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

const deadline = 20 * time.Second

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, deadline, true,
		func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// One object that cannot be decoded does not prevent reading the others, in the list and in the watch. It has no
// effect, also if it could be decoded before, until the next version that can be.
func TestInformerOutlivesObjectsThatCannotBeRead(t *testing.T) {
	for why, cpu := range unreadable {
		t.Run(why+", listed", func(t *testing.T) { outlives(t, cpu, false) })
		t.Run(why+", streamed", func(t *testing.T) { outlives(t, cpu, true) })
	}
}

func outlives(t *testing.T, cpu string, streams bool) {
	server := &apiServer{
		objects: []string{stored("a", "1", `"1"`), stored("bad", "2", cpu), stored("z", "3", `"2"`)}, streams: streams,
		events: make(chan string),
	}
	listener := httptest.NewServer(server)
	defer listener.Close()
	client, err := New(&rest.Config{Host: listener.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := &lines{}
	said := NewUnreadable(log.logger())
	informer := client.Informer("shop")
	if _, err := informer.AddEventHandler(said); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)
	until(t, "the list", informer.HasSynced)
	cached := cachedObjects{informer.GetStore()}
	if !cached.isGood("a") || !cached.isGood("z") || !cached.isEmpty("bad") {
		t.Fatalf("listed: %+v, %+v, %+v", cached.of("a"), cached.of("z"), cached.of("bad"))
	}
	server.events <- `{"type":"MODIFIED","object":` + stored("a", "6", cpu) + `}`
	until(t, "a good one becomes bad", func() bool { return cached.isEmpty("a") })
	server.events <- `{"type":"ADDED","object":` + stored("new", "7", cpu) + `}`
	server.events <- `{"type":"MODIFIED","object":` + stored("bad", "8", `"1"`) + `}`
	until(t, "a bad one becomes good", func() bool { return cached.isGood("bad") })
	if !cached.isEmpty("new") || !cached.isGood("z") {
		t.Errorf("%+v, %+v", cached.of("new"), cached.of("z"))
	}
	until(t, "two are counted", func() bool { return said.Count() == 2 })
	server.events <- `{"type":"MODIFIED","object":` + stored("new", "9", cpu) + `}`
	server.events <- `{"type":"DELETED","object":` + stored("new", "10", cpu) + `}`
	until(t, "one is gone", func() bool { return cached.of("new") == nil && said.Count() == 1 })
	if got := log.about("new"); got != 2 {
		t.Errorf("the log has %d lines about one that came and went: %v", got, log.all)
	}
}

type cachedObjects struct{ cache.Store }

func (c cachedObjects) of(name string) *vpav1.VerticalPodAutoscaler {
	object, _, _ := c.GetByKey("shop/" + name)
	vpa, _ := object.(*vpav1.VerticalPodAutoscaler)
	return vpa
}

func (c cachedObjects) isEmpty(name string) bool {
	vpa := c.of(name)
	return vpa != nil && strings.HasPrefix(vpa.Unreadable, "spec") && vpa.Spec.TargetRef == nil &&
		vpa.Spec.ResourcePolicy == nil &&
		len(vpa.Status.Conditions) == 1
}

func (c cachedObjects) isGood(name string) bool {
	vpa := c.of(name)
	return vpa != nil && vpa.Unreadable == "" && vpa.Spec.TargetRef != nil && vpa.Spec.ResourcePolicy != nil
}

// The decoder of a checkpoint refuses a weight that is not a number, and a bucket without one.
func TestCheckpointsThatCannotBeReadAreDamaged(t *testing.T) {
	item := func(name, status string) string {
		return fmt.Sprintf(`{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscalerCheckpoint","metadata":{"namespace":"shop","name":%q},
			"spec":{"vpaObjectName":"web","containerName":%q},"status":%s}`, name, name, status)
	}
	answer := `{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscalerCheckpointList","metadata":{},"items":[` + strings.Join([]string{
		item("good", `{"version":"v3","totalSamplesCount":7}`),
		item("bucket", `{"version":"v3","cpuHistogram":{"bucketWeights":{"first":1}}}`),
		item("weight", `{"version":"v3","cpuHistogram":{"totalWeight":"1e-999999999"}}`),
		item("last", `{"version":"v3","totalSamplesCount":8}`),
	}, ",") + `]}`
	client, _ := start(t, map[string]func([]byte) (int, any){
		"GET " + group + "/verticalpodautoscalercheckpoints": is(json.RawMessage(answer)),
	})
	var read []string
	err := client.EachCheckpoint(t.Context(), "", func(c *vpav1.VerticalPodAutoscalerCheckpoint) {
		read = append(read, fmt.Sprint(c.Spec.ContainerName, " ", c.Spec.VPAObjectName,
			" ", c.Status.Version, " ", c.Status.TotalSamplesCount))
	})
	want := []string{"good web v3 7", "bucket web unreadable 0", "weight web unreadable 0", "last web v3 8"}
	if err != nil || !slices.Equal(read, want) {
		t.Errorf("%v, %v", read, err)
	}
}

// A status that cannot be decoded is written again; the spec is in effect.
func TestStatusThatCannotBeReadIsNone(t *testing.T) {
	text := strings.Replace(stored("web", "1", `"1"`), `"status":{`,
		`"status":{"recommendation":{"containerRecommendations":[{"target":{"cpu":"1e-999999999"}}]},`, 1)
	client, _ := start(t, map[string]func([]byte) (int, any){"GET " +
		group + "/namespaces/shop/verticalpodautoscalers/web": is(json.RawMessage(text))})
	vpa, err := client.Get(t.Context(), "shop", "web")
	if err != nil || vpa.Unreadable != "" || vpa.Spec.TargetRef == nil || len(vpa.Status.Conditions) != 0 {
		t.Errorf("%+v, %v", vpa, err)
	}
}

// lines are a log.
type lines struct {
	mu  sync.Mutex
	all []string // guarded by mu
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, args)
	}, funcr.Options{})
}

func (l *lines) about(name string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, "shop/"+name) {
			n++
		}
	}
	return n
}

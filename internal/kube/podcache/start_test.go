package podcache_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// podsPerWorkload is the number of pods of each workload in the benchmark.
const podsPerWorkload = 10

// BenchmarkStart fills the pods' cache of both sides and their index from an API server that streams 100,000 pods of
// two containers, with the garbage collector as Plimsoll sets it. The server is in the same process, and its
// allocations count, too. Run it once: go test -run '^$' -bench Start -benchtime 1x ./internal/kube/podcache
func BenchmarkStart(b *testing.B) {
	for _, pods := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(40))
			debug.FreeOSMemory()
			server := httptest.NewServer(podServer(pods))
			defer server.Close()
			for b.Loop() {
				start(b, server.URL, pods)
			}
		})
	}
}

// start fills the cache once.
func start(b *testing.B, url string, pods int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	client, err := kubernetes.NewForConfig(&rest.Config{Host: url})
	if err != nil {
		b.Fatal(err)
	}
	all, index := podcache.NewShared(client), podindex.New()
	defer cancel()
	for i := range pods / podsPerWorkload {
		selector := labels.SelectorFromSet(labels.Set{"app": fmt.Sprintf("web-%d", i)})
		index.SetSelector(observe.HPA("shop", fmt.Sprintf("web-%d", i)),
			podindex.SelectorOf(selector))
	}
	handler, err := all.AddHandler(index.Handler(nil))
	if err != nil {
		b.Fatal(err)
	}
	most := uint64(0)
	all.Start(ctx)
	for deadline := time.After(10 * time.Minute); !handler.HasSynced(); {
		select {
		case <-deadline:
			b.Fatal("the pods do not come")
		case <-time.After(20 * time.Millisecond):
		}
		most = max(most, residentBytes(b))
	}
	if n := all.List().Len(); n != pods {
		b.Fatalf("%d pods in the cache", n)
	}
	var stats goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&stats)
	b.ReportMetric(float64(most)/(1<<20), "MiB-resident")
	b.ReportMetric(float64(stats.HeapAlloc)/(1<<20), "MiB-live")
	goruntime.KeepAlive(index)
	goruntime.KeepAlive(all)
}

// residentBytes returns the resident memory of the process.
func residentBytes(b *testing.B) uint64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

// podServer streams pods to every watcher, as API servers since 1.34 do.
func podServer(pods int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/pods" || r.URL.Query().Get("sendInitialEvents") != "true" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		encoder, frames := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
			protobuf.LengthDelimitedFramer.NewFrameWriter(w)
		send := func(kind string, pod *corev1.Pod) error {
			pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
			raw, err := runtime.Encode(encoder, pod)
			if err != nil {
				return err
			}
			event, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: raw}}).Marshal()
			if err != nil {
				return err
			}
			_, err = frames.Write(event)
			return err
		}
		for i := range pods {
			pod := podcache.Typical(i)
			workload := fmt.Sprintf("web-%d", i/podsPerWorkload)
			pod.Labels["app"], pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = workload, workload+"-5f76cfc7f7",
				types.UID(workload)
			if send("ADDED", pod) != nil {
				return
			}
		}
		end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: strconv.Itoa(pods), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}
		if send("BOOKMARK", end) != nil {
			return
		}
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		<-r.Context().Done()
	}
}

// Package podreader reads what real pods count, for an adapter that serves it to upstream.
package podreader

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/adapter"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/podmetrics"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// readPeriod is the period of the adapter's reads of the pods: the same as Plimsoll's. Common adapters read from
// Prometheus, which scrapes far less often.
const readPeriod = time.Second

// Reader measures the requests per second of real pods for an adapter for upstream, from one page to the next.
type Reader struct {
	Config
	http *http.Client

	mu   sync.Mutex
	at   time.Time               // guarded by mu: of the last round
	pods map[types.UID]*podCount // guarded by mu
}

// podCount is a pod's last page, and the rate that it showed.
type podCount struct {
	pod       *corev1.Pod
	at        time.Time
	total     float64
	perSecond float64
	isKnown   bool // the rate: there have been two pages
}

var _ adapter.Source = (*Reader)(nil)

// Config selects the pods to read.
type Config struct {
	Client    kubernetes.Interface
	Namespace string
	Labels    labels.Set
	// Port is the port of their metrics.
	Port int
}

// New returns a reader without values until Run.
func New(c Config) *Reader {
	return &Reader{Config: c, http: &http.Client{Timeout: readPeriod}, pods: map[types.UID]*podCount{}}
}

// Run reads until the context ends.
func (r *Reader) Run(ctx context.Context) {
	ticker := time.NewTicker(readPeriod)
	defer ticker.Stop()
	defer r.http.CloseIdleConnections()
	for {
		r.readAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// readAll omits failures: they are repeated at the next read, and for upstream such a pod has no metrics.
func (r *Reader) readAll(ctx context.Context) {
	list, err := r.Client.CoreV1().Pods(r.Namespace).List(ctx, metav1.ListOptions{LabelSelector: r.Labels.String()})
	if err != nil {
		return
	}
	counts := make([]*podCount, len(list.Items))
	var reading sync.WaitGroup
	for i := range list.Items {
		reading.Go(func() { counts[i] = r.read(ctx, &list.Items[i]) })
	}
	reading.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.pods
	r.at, r.pods = time.Now(), map[types.UID]*podCount{}
	for _, c := range counts {
		if c == nil {
			continue
		}
		if last := before[c.pod.UID]; last != nil && c.total >= last.total {
			c.perSecond, c.isKnown = (c.total-last.total)/c.at.Sub(last.at).Seconds(), true
		}
		r.pods[c.pod.UID] = c
	}
}

// read is nil without an answer.
func (r *Reader) read(ctx context.Context, pod *corev1.Pod) *podCount {
	if pod.Status.PodIP == "" || pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	url := fmt.Sprintf("http://%s/metrics", net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(r.Port)))
	page, err := exposition.Fetch(ctx, r.http, url)
	if err != nil {
		return nil
	}
	return &podCount{pod: pod, at: time.Now(), total: page.Sum(podmetrics.MetricRequests)}
}

// At implements adapter.Source.
func (r *Reader) At() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// Pods implements adapter.Source.
func (r *Reader) Pods(namespace string, selector labels.Selector) []world.PodView {
	r.mu.Lock()
	defer r.mu.Unlock()
	var views []world.PodView
	for _, c := range r.pods {
		if c.isKnown && c.pod.Namespace == namespace && selector.Matches(labels.Set(c.pod.Labels)) {
			views = append(views, world.PodView{
				Namespace: namespace, Name: c.pod.Name,
				Stats: workloadmodel.PodStats{ServedTotal: c.total, ServedPerSecond: c.perSecond},
			})
		}
	}
	return views
}

// Services implements adapter.Source: there are none.
func (r *Reader) Services(string) []world.ServiceView { return nil }

package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
)

// objectOn is an autoscaler of 2 to 20 pods on metrics, with a spec that goes on with more.
func objectOn(t *testing.T, metrics, more string) observehorizontal.Autoscaler {
	t.Helper()
	version, kind := "autoscaling/v2", manifest.HPAKind
	for _, own := range []string{"podEndpoint", "prometheus", "externalScaler"} {
		if strings.Contains(metrics, own) {
			version, kind, metrics = "plimsoll.dev/v1alpha1", "WorkloadAutoscaler", "{name: m, "+strings.TrimPrefix(metrics, "{")
		}
	}
	if more == "" {
		more = "minReplicas: 2, maxReplicas: 20"
	}
	objects, err := manifest.Read("test", strings.NewReader(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: web}, "+
		"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, %s, metrics: [%s]}}",
		version, kind, more, metrics)))
	if err != nil {
		t.Fatal(err)
	}
	a, err := objects[0].Autoscaler()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The metrics of the tests, with their targets left out.
const (
	onCPU       = "{type: Resource, resource: {name: cpu, target: %s}}"
	onMemory    = "{type: Resource, resource: {name: memory, target: %s}}"
	onContainer = "{type: ContainerResource, containerResource: {name: cpu, container: app, target: %s}}"
	onPods      = "{type: Pods, pods: {metric: {name: hits}, target: %s}}"
	onObject    = "{type: Object, object: {describedObject: {apiVersion: v1, kind: Service, name: web}, metric: {name: hits}, " +
		"target: %s}}"
	onExternal   = "{type: External, external: {metric: {name: hits}, target: %s}}"
	onPrometheus = "{type: Prometheus, prometheus: {serverAddress: 'http://p:9090', query: hits, target: %s}}"
	onRate       = "{type: PodEndpoint, podEndpoint: {port: 80, metric: {name: hits}, valueType: Rate, target: %s}}"
	onGauge      = "{type: PodEndpoint, podEndpoint: {port: 80, metric: {name: hits}, valueType: Gauge, target: %s}}"
	onGateway    = "{type: PodEndpoint, podEndpoint: {service: gateway, port: 80, metric: {name: hits}, valueType: Rate, target: %s}}"
	onQueue      = "{type: PodEndpoint, podEndpoint: {service: gateway, port: 80, metric: {name: hits}, valueType: Gauge, target: %s}}"
	onScaler     = "{type: ExternalScaler, externalScaler: {scalerAddress: 's:9090', target: %s}}"
)

func utilization(percent int) string {
	return fmt.Sprintf("{type: Utilization, averageUtilization: %d}", percent)
}
func average(v string) string { return fmt.Sprintf("{type: AverageValue, averageValue: '%s'}", v) }
func total(v string) string   { return fmt.Sprintf("{type: Value, value: '%s'}", v) }

// sceneOn plays a load with metrics of an autoscaler, without noise. Known is what is given of a pod's capacity.
func sceneOn(t *testing.T, a observehorizontal.Autoscaler, text string, known simulate.Known,
	change func(w *simulate.Workload)) *simulate.Scene {
	t.Helper()
	l, err := load.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w := simulate.DefaultWorkload()
	if change != nil {
		change(&w)
	}
	w.Complete()
	s, err := simulate.NewScene(l, w, a)
	if err != nil {
		t.Fatal(err)
	}
	s.For, s.Burstiness = 20*time.Minute, 0
	if err := s.Assume(a, known); err != nil {
		t.Fatal(err)
	}
	return s
}

// sidesOf are those that can decide an object.
func sidesOf(a observehorizontal.Autoscaler) []simulate.Side {
	if a.IsWorkload() {
		return []simulate.Side{simulate.Plimsoll}
	}
	return []simulate.Side{simulate.Upstream, simulate.Plimsoll}
}

// TestEachMetric: after a step of the load, each type of metric with each type of target leads to the count that
// follows by hand. A unit of the load is one request a second.
func TestEachMetric(t *testing.T) {
	noBase := func(w *simulate.Workload) { w.Profile.MemoryBaseBytes = 1 << 20 }
	// No pod is added: so many requests wait as came while they were more than one pod serves.
	oneServes := func(w *simulate.Workload) { w.ReadyAfter = 30 * time.Minute }
	const queue, ten = "step:10@0s,40@5m,10@5m40s", 10
	for name, c := range map[string]struct {
		metric, load string
		serves       float64
		pods         func(w *simulate.Workload)
		want         int
	}{
		"cpu, at 50 % of 100 requests/s: 240 / 50":        {fmt.Sprintf(onCPU, utilization(50)), "step:50@0s,240@5m", 100, nil, 5},
		"cpu, at 200m of 500m, so 40 of 100: 190 / 40":    {fmt.Sprintf(onCPU, average("200m")), "step:50@0s,190@5m", 100, nil, 5},
		"a container's cpu, at 50 %: 240 / 50":            {fmt.Sprintf(onContainer, utilization(50)), "step:50@0s,240@5m", 100, nil, 5},
		"a container's cpu, at 200m: 190 / 40":            {fmt.Sprintf(onContainer, average("200m")), "step:50@0s,190@5m", 100, nil, 5},
		"memory, at 1Mi and 512 times 64Ki: 2450 / 512":   {fmt.Sprintf(onMemory, average("33Mi")), "step:500@0s,2450@5m", 2000, noBase, 5},
		"memory, 26 % of 128Mi: 2450 / (32.3Mi / 64Ki)":   {fmt.Sprintf(onMemory, utilization(26)), "step:500@0s,2450@5m", 2000, noBase, 5},
		"requests of each pod: 480 / 100":                 {fmt.Sprintf(onPods, average("100")), "step:100@0s,480@5m", 0, nil, 5},
		"requests of an object, for each pod: 480 / 100":  {fmt.Sprintf(onObject, average("100")), "step:100@0s,480@5m", 0, nil, 5},
		"all requests of an object, above its value":      {fmt.Sprintf(onObject, total("1k")), "step:100@0s,1500@5m", 200, nil, 20},
		"all requests of an object, below its value":      {fmt.Sprintf(onObject, total("2k")), "step:100@0s,1500@5m", 200, nil, 2},
		"requests of a query, for each pod: 480 / 100":    {fmt.Sprintf(onPrometheus, average("100")), "step:100@0s,480@5m", 0, nil, 5},
		"all requests of a query, above its value":        {fmt.Sprintf(onPrometheus, total("1k")), "step:100@0s,1500@5m", 200, nil, 20},
		"requests that pods count: 480 / 100":             {fmt.Sprintf(onRate, average("100")), "step:100@0s,480@5m", 0, nil, 5},
		"requests that pods count, all, above the value":  {fmt.Sprintf(onRate, total("1k")), "step:100@0s,1500@5m", 500, nil, 20},
		"one in a pod is 76 requests/s of 13 ms: 366/76":  {fmt.Sprintf(onGauge, average("1")), "step:50@0s,366@5m", 100, nil, 5},
		"30 requests/s wait for 40 s: 1200 / 100":         {fmt.Sprintf(onExternal, average("100")), queue, ten / 2, oneServes, 12},
		"30 requests/s wait for 40 s: 1200 / 100 for one": {fmt.Sprintf(onExternal, total("100")), queue, ten / 2, oneServes, 12},
		"a gateway's requests, for each pod: 480 / 100":   {fmt.Sprintf(onGateway, average("100")), "step:100@0s,480@5m", 0, nil, 5},
		"all requests of a gateway, above its value":      {fmt.Sprintf(onGateway, total("1k")), "step:100@0s,1500@5m", 200, nil, 20},
		"a gateway's queue, 1200 wait: 1200 / 100":        {fmt.Sprintf(onQueue, average("100")), queue, ten / 2, oneServes, 12},
		"a scaler's, 1200 wait: 1200 / 100":               {fmt.Sprintf(onScaler, average("100")), queue, ten / 2, oneServes, 12},
		"a scaler's, 1200 wait: 1200 / 100 for one":       {fmt.Sprintf(onScaler, total("100")), queue, ten / 2, oneServes, 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := objectOn(t, c.metric, "")
			if c.load == queue {
				a = objectOn(t, c.metric, "minReplicas: 1, maxReplicas: 20")
			}
			s := sceneOn(t, a, c.load, simulate.Known{PerSecond: c.serves, From: "the test"}, c.pods)
			if c.load == queue {
				s.Replicas, s.For = 1, 10*time.Minute
			}
			for _, side := range sidesOf(a) {
				var last simulate.Moment
				run, err := simulate.Play(t.Context(), s, simulate.Setting{Side: side, HPA: a.HPA, Workload: a.Workload},
					simulate.Watch{Moment: func(m *simulate.Moment) { last = *m }})
				if err != nil {
					t.Fatal(err)
				}
				if last.Wanted != c.want {
					t.Errorf("%s: %d pods, want %d: %v", side, last.Wanted, c.want, run.Changes)
				}
			}
		})
	}
}

// TestAssume: what a pod serves comes from a flag, from targets in requests, or from maxReplicas, and is said.
func TestAssume(t *testing.T) {
	for name, c := range map[string]struct {
		metrics  string
		known    simulate.Known
		serves   float64
		target   float64
		assumed  string
		fed      string
		capacity float64
	}{
		"cpu: the peak of 1500 needs 14 of 20 pods at 60 %": {
			metrics: fmt.Sprintf(onCPU, utilization(60)), serves: 1500 / (14 * 0.6), target: 0.6,
			assumed: "a pod serves 179 requests/s at 100 % of its CPU request, so that the peak of 1500 needs 70 % of " +
				"maxReplicas 20; at 60 % the peak needs 14 pods; --pod-capacity",
			fed: "cpu is what requests use, 2.8m for each request per second: the peak needs 14 pods",
		},
		"a flag": {
			metrics: fmt.Sprintf(onCPU, utilization(60)), known: simulate.Known{PerSecond: 50, From: "--pod-capacity"},
			serves: 50, target: 0.6,
			assumed: "a pod serves 50 requests/s at 100 % of its CPU request, as --pod-capacity says; at 60 % the peak needs 50 pods",
		},
		"requests of each pod": {
			metrics: fmt.Sprintf(onPods, average("100")), serves: 100 / 0.7, target: 0.7,
			assumed: "a pod serves 100 requests/s at its target, as hits says, with 70 % of its CPU request, so 143 at 100 %; " +
				"at 70 % the peak needs 15 pods;",
			fed: "hits is the requests that a pod serves per second: the peak needs 15 pods",
		},
		"a flag and requests of each pod": {
			metrics: fmt.Sprintf(onPods, average("100")), known: simulate.Known{PerSecond: 125, From: "--pod-capacity"},
			serves: 125, target: 0.8, assumed: "125 requests/s at 100 % of its CPU request",
		},
		"cpu and requests ask for the same": {
			metrics: fmt.Sprintf(onCPU, utilization(50)) + ", " + fmt.Sprintf(onPods, average("100")),
			serves:  200, target: 0.5, assumed: "100 requests/s at its target, as hits says, with 50 % of its CPU request",
		},
		"the smaller of two": {
			metrics: fmt.Sprintf(onObject, average("75")) + ", " + fmt.Sprintf(onPods, average("100")),
			serves:  75 / 0.7, target: 0.7, assumed: "a pod serves 75 requests/s at its target",
		},
		"memory alone": {
			metrics: fmt.Sprintf(onMemory, average("64Mi")), serves: 512 / 0.7, target: 0.7,
			assumed: "a pod serves 512 requests/s at its target, as memory says",
			fed:     "memory is 32Mi in a pod and 64Ki for each request in it or served within 1s: the peak needs 3 pods",
		},
		"a queue": {
			metrics: fmt.Sprintf(onExternal, average("30")), serves: 1500 / (14 * 0.7), target: 0.7,
			assumed: "requests wait in one queue, which loses none", fed: "hits is the requests that wait",
		},
		"recorded, in pods": {
			metrics: fmt.Sprintf(onCPU, utilization(60)), known: simulate.Known{IsInPods: true}, serves: 50, target: 0.6,
			capacity: 1 / 0.6, assumed: "the load is in pods at the target, as recorded, each of which serves 30 requests/s; a " +
				"pod serves 50 requests/s at 100 % of its CPU request; at 60 % the peak needs 1500 pods;",
		},
		"recorded, and requests of each pod": {
			metrics: fmt.Sprintf(onPods, average("100")), known: simulate.Known{IsInPods: true}, serves: 100 / 0.7, target: 0.7,
			capacity: 1 / 0.7, assumed: "each of which serves 100 requests/s; a pod serves 100 requests/s at its target, as hits says",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := sceneOn(t, objectOn(t, c.metrics, ""), "step:100@0s,1500@5m", c.known, nil)
			serves := s.Workload.CPURequestMilli / s.Workload.Profile.CPUPerRequestMilliCoreSeconds
			capacity := c.serves
			if c.capacity > 0 {
				capacity = c.capacity
			}
			if !isNear(serves, c.serves) || !isNear(s.Target, c.target) || !isNear(s.PodCapacity, capacity) {
				t.Errorf("a pod serves %v requests/s and %v of the load, at a target of %v; want %v, %v, %v", serves, s.PodCapacity,
					s.Target, c.serves, capacity, c.target)
			}
			if !strings.Contains(s.Assumed, c.assumed) || !strings.Contains(strings.Join(s.MetricMeanings, "\n"), c.fed) {
				t.Errorf("%s\n%s", s.Assumed, s.MetricMeanings)
			}
		})
	}
}

func isNear(a, b float64) bool { return a-b < 1e-9*b && b-a < 1e-9*b }

// settingsOf are an object under a side, and with other maxReplicas.
func settingsOf(a observehorizontal.Autoscaler) []simulate.Setting {
	return []simulate.Setting{{Name: "first", Side: simulate.Plimsoll, HPA: a.HPA, Workload: a.Workload}}
}

// TestRefusal: metrics that cannot follow the load are refused with the reason and what to do, and what asks for more
// pods at some load is not.
func TestRefusal(t *testing.T) {
	limited := func(w *simulate.Workload) { w.CPULimitMilli = w.CPURequestMilli }
	flag := func(perSecond float64) simulate.Known {
		return simulate.Known{PerSecond: perSecond, From: "--pod-capacity"}
	}
	for name, c := range map[string]struct {
		metrics string
		known   simulate.Known
		pods    func(w *simulate.Workload)
		want    string
	}{
		"requests above what a pod serves": {fmt.Sprintf(onPods, average("100")), flag(50), nil,
			"metric hits never asks for more pods: it does above 110 requests/s in a pod, and a pod serves at most 100 (1000m " +
				"of CPU): lower the target, or raise --pod-capacity"},
		"a rate above what a pod serves": {fmt.Sprintf(onRate, average("100")), flag(50), nil, "metric m never asks"},
		"requests that a pod serves":     {fmt.Sprintf(onPods, average("100")), flag(60), nil, ""},
		"cpu above the limit": {fmt.Sprintf(onCPU, utilization(95)), simulate.Known{}, limited,
			"metric cpu never asks for more pods: it does above 522m in a pod, and a pod gets at most 500m: lower the target, " +
				"or raise --cpu-limit or --burst"},
		"cpu without a limit": {fmt.Sprintf(onCPU, utilization(95)), simulate.Known{}, nil, ""},
		"memory that is always used": {fmt.Sprintf(onMemory, average("30Mi")), simulate.Known{}, nil,
			"metric memory always asks for more pods: each uses 32Mi without requests, and its target is 30Mi: say with --memory"},
		"memory that is never used": {fmt.Sprintf(onMemory, average("500Mi")), flag(100), nil,
			"metric memory never asks for more pods: a pod would reach its target of 500Mi with 7488 requests/s, and serves at " +
				"most 200: say with --memory"},
		"such memory beside cpu": {fmt.Sprintf(onCPU, utilization(60)) + ", " + fmt.Sprintf(onMemory, average("500Mi")),
			simulate.Known{}, nil, ""},
		"more in a pod than wait": {fmt.Sprintf(onGauge, average("300")), simulate.Known{}, nil, "at most 200 requests wait"},
		"an object's requests":    {fmt.Sprintf(onObject, average("100")), flag(50), nil, ""},
	} {
		a := objectOn(t, c.metrics, "")
		err := simulate.Refusal(sceneOn(t, a, "step:100@0s,1500@5m", c.known, c.pods), settingsOf(a))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestSameSettings: settings that ask for the same are refused, and names make no difference.
func TestSameSettings(t *testing.T) {
	a := objectOn(t, fmt.Sprintf(onPods, average("100")), "")
	s := sceneOn(t, a, "step:100@0s,1500@5m", simulate.Known{}, nil)
	for name, c := range map[string]struct {
		other  observehorizontal.Autoscaler
		isSame bool
	}{
		"the same":       {a, true},
		"another name":   {objectOn(t, fmt.Sprintf(strings.ReplaceAll(onPods, "hits", "other"), average("100")), ""), true},
		"another target": {objectOn(t, fmt.Sprintf(onPods, average("90")), ""), false},
		"another limit":  {objectOn(t, fmt.Sprintf(onPods, average("100")), "minReplicas: 2, maxReplicas: 21"), false},
	} {
		settings := append(settingsOf(a), simulate.Setting{Name: "second", Side: simulate.Plimsoll, HPA: c.other.HPA})
		if err := simulate.Refusal(s, settings); (err != nil) != c.isSame {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVerdict: what keeps the count from following the load is said of what was played.
func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		metrics, more string
		serves        float64
		want          string
	}{
		"enough": {fmt.Sprintf(onPods, average("100")), "", 0, ""},
		"too few permitted": {fmt.Sprintf(onPods, average("100")), "minReplicas: 2, maxReplicas: 10", 0,
			"the peak needs more pods than maxReplicas permits (15 of maxReplicas 10)"},
		"always as many": {fmt.Sprintf(onCPU, utilization(60)), "minReplicas: 9, maxReplicas: 9", 500,
			"minReplicas is maxReplicas, so the count cannot change"},
		"a value that more pods do not lower": {fmt.Sprintf(onObject, total("1k")), "", 100,
			"metric hits is all requests, which more pods do not lower: above 1100 it asks for maxReplicas"},
		"a value that is not reached": {fmt.Sprintf(onObject, total("2k")), "", 100,
			"metric hits asks for nothing: the peak of 1500 requests/s is not above its target of 2000"},
		"a value that the pods there never reach": {fmt.Sprintf(onRate, total("1k")), "", 200,
			"metric m asks for nothing: 2 pods can serve at most 800 requests/s, and its target is 1000"},
		"an empty queue": {fmt.Sprintf(onExternal, average("30")), "", 400,
			"metric hits asks for nothing: the peak of 1500 requests/s is what 2 pods can serve, so none wait"},
		"a queue":                    {fmt.Sprintf(onExternal, average("30")), "", 0, ""},
		"more than a pod serves":     {fmt.Sprintf(onObject, average("300")), "", 100, "and a pod serves at most 200"},
		"one of two that never asks": {fmt.Sprintf(onCPU, utilization(60)) + ", " + fmt.Sprintf(onPods, average("300")), "", 130, "metric hits never asks"},
	} {
		a := objectOn(t, c.metrics, c.more)
		s := sceneOn(t, a, "step:100@0s,1500@5m", simulate.Known{PerSecond: c.serves, From: "--pod-capacity"}, nil)
		err := simulate.Verdict(s, settingsOf(a))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestVerdictNamesSettings: what is about some settings has their names, and the peak may need more than the smaller of two
// maxReplicas: that is what is compared.
func TestVerdictNamesSettings(t *testing.T) {
	a, b := objectOn(t, fmt.Sprintf(onObject, average("100")), "minReplicas: 2, maxReplicas: 6"),
		objectOn(t, fmt.Sprintf(onObject, total("1k")), "minReplicas: 2, maxReplicas: 60")
	s := sceneOn(t, a, "step:100@0s,1500@5m", simulate.Known{}, nil)
	settings := append(settingsOf(a), simulate.Setting{Name: "second", Side: simulate.Plimsoll, HPA: b.HPA})
	err := simulate.Verdict(s, settings)
	if err == nil || err.Error() != "second: metric hits is all requests, which more pods do not lower: above 1100 it asks for "+
		"maxReplicas: use an averageValue" {
		t.Errorf("%v", err)
	}
}

// TestNote: runs that do not differ, and counts that do not change, are pointed out.
func TestNote(t *testing.T) {
	a := objectOn(t, fmt.Sprintf(onPods, average("100")), "")
	b := objectOn(t, fmt.Sprintf(onPods, average("100")), "minReplicas: 2, maxReplicas: 30")
	for text, want := range map[string]string{
		"step:100@0s,1500@5m": "the settings make no difference to this load, and have the same counts at all times: the peak " +
			"needs 15 pods",
		"step:100@0s,110@5m": "the count never changes: the peak needs 2 pods",
	} {
		s := sceneOn(t, a, text, simulate.Known{}, nil)
		s.For = 8 * time.Minute
		settings := append(settingsOf(a), simulate.Setting{Name: "second", Side: simulate.Plimsoll, HPA: b.HPA})
		runs, err := simulate.PlayAll(t.Context(), s, settings, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := simulate.Note(s, runs); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestServeIn: the other containers of a pod request what they do, and use nothing.
func TestServeIn(t *testing.T) {
	objects, err := manifest.Read("test", strings.NewReader(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [
{name: proxy, resources: {requests: {cpu: 100m}}}, {name: app, resources: {requests: {cpu: 400m}, limits: {cpu: "1"}}}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	w := simulate.DefaultWorkload()
	if err := objects[0].Fill(&w); err != nil {
		t.Fatal(err)
	}
	w.ServeIn("app")
	if w.CPURequestMilli != 400 || w.CPULimitMilli != 1000 || w.Containers != 1 || len(w.Sidecars) != 1 ||
		w.Sidecars[0].Name != "proxy" || w.Sidecars[0].CPURequestMilli != 100 || w.Name != "Deployment web, container app" {
		t.Errorf("%+v", w)
	}
	a := objectOn(t, fmt.Sprintf(onContainer, utilization(50)), "")
	s := sceneOn(t, a, "step:50@0s,240@5m", simulate.Known{PerSecond: 100, From: "the test"},
		func(own *simulate.Workload) { *own = w })
	if s.Target != 0.5 {
		t.Errorf("a target of %v", s.Target)
	}
	if _, err := simulate.Play(t.Context(), s, settingsOf(a)[0], simulate.Watch{}); err != nil {
		t.Error(err)
	}
	other := objectOn(t, fmt.Sprintf(strings.ReplaceAll(onContainer, "app", "none"), utilization(50)), "")
	if _, err := simulate.Play(t.Context(), s, settingsOf(other)[0], simulate.Watch{}); err == nil ||
		!strings.Contains(err.Error(), "metric cpu is of container none, which Deployment web, container app does not have") {
		t.Errorf("%v", err)
	}
}

// TestNoteWithoutMetrics: what only schedules change does not follow the load.
func TestNoteWithoutMetrics(t *testing.T) {
	a := objectOn(t, fmt.Sprintf(onScaler, average("5")), "minReplicas: 2, maxReplicas: 20, schedules: "+
		"[{name: day, timeZone: UTC, start: '0 9 * * *', durationSeconds: 3600, minReplicas: 3}]")
	a.Workload = a.Workload.DeepCopy()
	a.Workload.Spec.Metrics = nil
	own := observehorizontal.WorkloadAutoscaler(a.Workload)
	s := sceneOn(t, own, "step:100@0s,1500@5m", simulate.Known{}, nil)
	run, err := simulate.Play(t.Context(), s, settingsOf(own)[0], simulate.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	if got := simulate.Note(s, []*simulate.Run{run}); got != "no metric follows the load: schedules alone change the count" {
		t.Errorf("%q", got)
	}
}

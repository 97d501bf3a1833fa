package simulate_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
)

// scenario is one that was read.
type scenario struct {
	scene   *simulate.Scene
	setting simulate.Setting
	seeds   int
	demands []demand
}

// draft is a scenario on its way.
type draft struct {
	scenario
	autoscaler            *manifest.Object
	sets                  []string
	load                  *load.Load
	pods                  simulate.Workload
	serving               float64
	later                 []func(s *simulate.Scene)
	hasReason, hasDemands bool
}

func parseScenario(text string) (*scenario, error) {
	d := draft{pods: simulate.DefaultWorkload()}
	d.seeds = 1
	for i, line := range strings.Split(text, "\n") {
		if err := d.take(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return d.finish()
}

func (d *draft) take(line string) error {
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		return nil
	case strings.HasPrefix(trimmed, "#"):
		d.hasReason = true
		return nil
	case trimmed == "must:":
		d.hasDemands = true
		return nil
	case d.hasDemands:
		one, err := parseDemand(trimmed)
		d.demands = append(d.demands, one)
		return err
	}
	key, value, _ := strings.Cut(trimmed, ":")
	take, known := keys()[key]
	if !known {
		return fmt.Errorf("%q is not known", key)
	}
	return take(d, strings.TrimSpace(value))
}

// keys are the lines of a setting.
func keys() map[string]func(d *draft, value string) error {
	return map[string]func(d *draft, value string) error{
		"autoscaler":         takeAutoscaler,
		"workloadautoscaler": takeWorkloadAutoscaler,
		"start": func(d *draft, value string) error {
			start, err := time.Parse(time.RFC3339, value)
			d.then(func(s *simulate.Scene) { s.Start = start })
			return err
		},
		"pods":  takePods,
		"nodes": takeNodes,
		"set":   func(d *draft, value string) error { d.sets = append(d.sets, value); return nil },
		"load": func(d *draft, value string) (err error) {
			d.load, err = load.Parse(value)
			return err
		},
		"as": func(d *draft, value string) (err error) {
			d.setting.Side, err = simulate.ParseSide(value)
			return err
		},
		"seeds": func(d *draft, value string) (err error) {
			d.seeds, err = strconv.Atoi(value)
			return err
		},
		"for": func(d *draft, value string) error {
			lasts, err := time.ParseDuration(value)
			d.then(func(s *simulate.Scene) { s.For = lasts })
			return err
		},
		"burstiness": func(d *draft, value string) error {
			b, err := strconv.ParseFloat(value, 64)
			d.then(func(s *simulate.Scene) { s.Burstiness = b })
			return err
		},
		"replicas": func(d *draft, value string) error {
			n, err := strconv.ParseInt(value, 10, 32)
			d.then(func(s *simulate.Scene) { s.Replicas = int32(n) })
			return err
		},
		"upstream": takeUpstream,
		"housekeeping": func(d *draft, value string) error {
			every, err := time.ParseDuration(value)
			d.then(func(s *simulate.Scene) { s.Timing.Housekeeping = every })
			return err
		},
	}
}

func (d *draft) then(set func(s *simulate.Scene)) { d.later = append(d.later, set) }

// takeAutoscaler reads "cpu 50 %, 2 to 20 pods".
func takeAutoscaler(d *draft, value string) error {
	var percent, least, most int
	if _, err := fmt.Sscanf(value, "cpu %d %%, %d to %d pods", &percent, &least, &most); err != nil {
		return fmt.Errorf("%q is not of the form: cpu 50 %%, 2 to 20 pods", value)
	}
	objects, err := manifest.Read("autoscaler", strings.NewReader(fmt.Sprintf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler,
metadata: {name: web}, spec: {minReplicas: %d, maxReplicas: %d, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web},
metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: %d}}}]}}`, least, most, percent)))
	if err != nil {
		return err
	}
	d.autoscaler = &objects[0]
	return nil
}

// takeWorkloadAutoscaler reads a spec without its scaleTargetRef.
func takeWorkloadAutoscaler(d *draft, value string) error {
	spec := strings.Replace(value, "{", "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, ", 1)
	objects, err := manifest.Read("autoscaler", strings.NewReader(
		"{apiVersion: plimsoll.dev/v1alpha1, kind: WorkloadAutoscaler, metadata: {name: web}, spec: "+spec+"}"))
	if err != nil {
		return err
	}
	d.autoscaler = &objects[0]
	return nil
}

// takePods reads "request 500m, limit 1, running after 2s, ready after 5s, serving 10".
func takePods(d *draft, value string) error {
	for part := range strings.SplitSeq(value, ", ") {
		words := strings.Fields(part)
		last := words[len(words)-1]
		var err error
		switch strings.Join(words[:len(words)-1], " ") {
		case "request":
			d.pods.CPURequestMilli, err = milli(last)
		case "limit":
			d.pods.CPULimitMilli, err = milli(last)
		case "a request costs":
			d.pods.Profile.CPUPerRequestMilliCoreSeconds, err = milli(last)
		case "start-up uses":
			d.pods.Profile.StartupCPUMilli, err = milli(last)
		case "running after":
			d.pods.StartAfter, err = time.ParseDuration(last)
		case "ready after":
			d.pods.ReadyAfter, err = time.ParseDuration(last)
		case "serving":
			d.serving, err = strconv.ParseFloat(last, 64)
		case "bursting to":
			d.pods.Burst, err = strconv.ParseFloat(last, 64)
		case "imbalance":
			d.pods.Profile.Imbalance, err = strconv.ParseFloat(last, 64)
		default:
			err = errors.New("not known")
		}
		if err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
	}
	return nil
}

func milli(text string) (float64, error) {
	q, err := resource.ParseQuantity(text)
	return q.AsApproximateFloat64() * 1000, err
}

// takeNodes reads "2 of 4, another after 90s".
func takeNodes(d *draft, value string) error {
	var nodes int
	var cores float64
	var delayText string
	if _, err := fmt.Sscanf(value, "%d of %g, another after %s", &nodes, &cores, &delayText); err != nil {
		return fmt.Errorf("%q is not of the form: 2 of 4, another after 90s", value)
	}
	delay, err := time.ParseDuration(delayText)
	d.then(func(s *simulate.Scene) { s.Supply.Nodes, s.Supply.CPUMilli, s.Supply.Delay = nodes, 1000*cores, delay })
	return err
}

// takeUpstream reads "sync 1s, resolution 10s".
func takeUpstream(d *draft, value string) error {
	var syncText, resolutionText string
	if _, err := fmt.Sscanf(strings.ReplaceAll(value, ",", " "), "sync %s resolution %s", &syncText,
		&resolutionText); err != nil {
		return fmt.Errorf("%q is not of the form: sync 1s, resolution 10s", value)
	}
	sync, err := time.ParseDuration(syncText)
	if err != nil {
		return err
	}
	resolution, err := time.ParseDuration(resolutionText)
	d.then(func(s *simulate.Scene) { s.Timing.Upstream.Sync, s.Timing.Upstream.Resolution = sync, resolution })
	return err
}

func (d *draft) finish() (*scenario, error) {
	switch {
	case !d.hasReason:
		return nil, errors.New("say in a first line with # why this scenario matters")
	case d.autoscaler == nil || d.load == nil || d.setting.Side == "":
		return nil, errors.New("autoscaler, load and as must be there")
	case len(d.demands) == 0:
		return nil, errors.New("nothing must hold")
	case d.seeds < 1:
		return nil, errors.New("want at least one seed")
	}
	object := d.autoscaler
	for _, text := range d.sets {
		a, err := manifest.ParseAssignment(text)
		if err != nil {
			return nil, err
		}
		if object, err = object.With(a); err != nil {
			return nil, err
		}
	}
	a, err := object.Autoscaler()
	if err != nil {
		return nil, err
	}
	d.setting.HPA, d.setting.Workload = a.HPA, a.Workload
	d.setting.Name = string(d.setting.Side)
	d.pods.Complete()
	if d.scene, err = simulate.NewScene(d.load, d.pods, d.setting.Autoscaler()); err != nil {
		return nil, err
	}
	if d.serving > 0 {
		d.scene.PodCapacity = d.serving
	}
	for _, set := range d.later {
		set(d.scene)
	}
	return &d.scenario, nil
}

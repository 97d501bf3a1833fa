package world

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// The annotations, see the package comment.
const (
	annotationPrefix = "sim.plimsoll.dev/"

	AnnotationLoad            = annotationPrefix + "requests-per-second"
	AnnotationBacklogLimit    = annotationPrefix + "backlog-limit"
	AnnotationContainerShares = annotationPrefix + "container-shares"

	AnnotationCPUPerRequest    = annotationPrefix + "cpu-per-request"
	AnnotationIdleCPU          = annotationPrefix + "idle-cpu"
	AnnotationStartupCPU       = annotationPrefix + "startup-cpu"
	AnnotationStartupDuration  = annotationPrefix + "startup-duration"
	AnnotationMemoryBase       = annotationPrefix + "memory-base"
	AnnotationMemoryPerRequest = annotationPrefix + "memory-per-request"
	AnnotationIOLatency        = annotationPrefix + "io-latency"
	AnnotationQueueLimit       = annotationPrefix + "queue-limit"
	AnnotationImbalance        = annotationPrefix + "imbalance"
	AnnotationNoise            = annotationPrefix + "noise"

	AnnotationMetrics = annotationPrefix + "metrics"
)

// A complaint is an annotation whose value was not used.
type complaint struct {
	annotation string
	err        error
}

func (c complaint) String() string {
	return fmt.Sprintf("annotation %s: %v; the default is used", c.annotation, c.err)
}

// parameter reads one annotation into a profile.
type parameter struct {
	annotation string
	set        func(p *workloadmodel.Profile, text string) error
}

var parameters = []parameter{
	{AnnotationCPUPerRequest,
		quantity(1000, func(p *workloadmodel.Profile) *float64 { return &p.CPUPerRequestMilliCoreSeconds })},
	{AnnotationIdleCPU, quantity(1000, func(p *workloadmodel.Profile) *float64 { return &p.IdleCPUMilli })},
	{AnnotationStartupCPU, quantity(1000, func(p *workloadmodel.Profile) *float64 { return &p.StartupCPUMilli })},
	{AnnotationMemoryBase, quantity(1, func(p *workloadmodel.Profile) *float64 { return &p.MemoryBaseBytes })},
	{AnnotationMemoryPerRequest, quantity(1, func(p *workloadmodel.Profile) *float64 { return &p.MemoryPerRequestBytes })},
	{AnnotationQueueLimit, quantity(1, func(p *workloadmodel.Profile) *float64 { return &p.QueueLimit })},
	{AnnotationStartupDuration, duration(func(p *workloadmodel.Profile) *time.Duration { return &p.Startup })},
	{AnnotationIOLatency, duration(func(p *workloadmodel.Profile) *time.Duration { return &p.IOLatency })},
	{AnnotationImbalance, fraction(func(p *workloadmodel.Profile) *float64 { return &p.Imbalance })},
	{AnnotationNoise, fraction(func(p *workloadmodel.Profile) *float64 { return &p.Noise })},
}

// profileOf reads a pod's annotations. A value that does not parse, or that the model refuses, keeps the default.
func profileOf(annotations map[string]string) (workloadmodel.Profile, []complaint) {
	profile := workloadmodel.DefaultProfile()
	var complaints []complaint
	for _, parameter := range parameters {
		text, found := annotations[parameter.annotation]
		if !found {
			continue
		}
		changed := profile
		err := parameter.set(&changed, text)
		if err == nil {
			err = changed.Validate()
		}
		if err != nil {
			complaints = append(complaints, complaint{parameter.annotation, err})
			continue
		}
		profile = changed
	}
	return profile, complaints
}

func quantity(scale float64, field func(*workloadmodel.Profile) *float64) func(*workloadmodel.Profile, string) error {
	return func(p *workloadmodel.Profile, text string) error {
		value, err := resource.ParseQuantity(text)
		if err != nil {
			return fmt.Errorf("%q is not a quantity: %w", text, err)
		}
		*field(p) = value.AsApproximateFloat64() * scale
		return nil
	}
}

func duration(field func(*workloadmodel.Profile) *time.Duration) func(*workloadmodel.Profile, string) error {
	return func(p *workloadmodel.Profile, text string) error {
		value, err := time.ParseDuration(text)
		*field(p) = value
		return err
	}
}

func fraction(field func(*workloadmodel.Profile) *float64) func(*workloadmodel.Profile, string) error {
	return func(p *workloadmodel.Profile, text string) error {
		value, err := strconv.ParseFloat(text, 64)
		*field(p) = value
		return err
	}
}

// loadOf reads a Service's load; nil means that it has none.
func loadOf(annotations map[string]string) (workloadmodel.Shape, *complaint) {
	text, found := annotations[AnnotationLoad]
	if !found {
		return nil, nil
	}
	shape, err := workloadmodel.ParseShape(text)
	if err != nil {
		return nil, &complaint{AnnotationLoad, err}
	}
	return shape, nil
}

// backlogLimitOf reads how many requests may wait for the first ready pod.
func backlogLimitOf(annotations map[string]string) (float64, *complaint) {
	text, found := annotations[AnnotationBacklogLimit]
	if !found {
		return workloadmodel.DefaultBacklogLimit, nil
	}
	limit, err := strconv.ParseFloat(text, 64)
	if err == nil && (!(limit >= 0) || math.IsInf(limit, 1)) {
		err = fmt.Errorf("%q must be finite and at least 0", text)
	}
	if err != nil {
		return workloadmodel.DefaultBacklogLimit, &complaint{AnnotationBacklogLimit, err}
	}
	return limit, nil
}

// parseShares reads "app=90,proxy=10" into parts that sum up to 1, in the order of names. Containers that the text
// does not name get nothing.
func parseShares(text string, names []string) ([]float64, error) {
	weights := map[string]float64{}
	var sum float64
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		weight, err := strconv.ParseFloat(value, 64)
		if err != nil || !(weight >= 0) || math.IsInf(weight, 1) {
			return nil, fmt.Errorf("%q is not of the form CONTAINER=WEIGHT", field)
		}
		weights[name] = weight
		sum += weight
	}
	if sum <= 0 {
		return nil, errors.New("the weights sum up to 0")
	}
	shares := make([]float64, len(names))
	for i, name := range names {
		shares[i] = weights[name] / sum
		delete(weights, name)
	}
	for name := range weights {
		return nil, fmt.Errorf("the pod has no container %q", name)
	}
	return shares, nil
}

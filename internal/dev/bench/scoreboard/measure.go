package scoreboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// Config says what is played.
type Config struct {
	// Folder has traces, .csv or .csv.gz; generated days are played if it is empty.
	Folder string
	// TargetPercent, MinReplicas and MaxReplicas are those of both sides, which have no
	// behavior beside.
	TargetPercent, MinReplicas, MaxReplicas int32
	// ReadyAfter is how long a pod takes to be ready once it runs.
	ReadyAfter time.Duration
	// Seeds is how often each is played.
	Seeds int
	// For cuts loads off; 0 plays them whole.
	For time.Duration
	// Say is called with the progress; it may be nil.
	Say func(format string, args ...any)
}

// Defaults are what the table in the documentation was made with.
func Defaults() Config {
	return Config{TargetPercent: 70, MinReplicas: 2, MaxReplicas: 20, ReadyAfter: 10 * time.Second, Seeds: 3}
}

// Results are the scores.
type Results struct {
	Machine       report.Machine `json:"machine"`
	TargetPercent int32          `json:"targetPercent"`
	MinReplicas   int32          `json:"minReplicas"`
	MaxReplicas   int32          `json:"maxReplicas"`
	Seeds         int            `json:"seeds"`
	Loads         []Load         `json:"loads"`
}

// Load is what came of one load, seed by seed.
type Load struct {
	Name     string        `json:"name"`
	Hours    float64       `json:"hours"`
	Upstream []score.Score `json:"upstream"`
	Plimsoll []score.Score `json:"plimsoll"`
}

// Measure plays everything.
func Measure(ctx context.Context, c Config) (Results, error) {
	r := Results{TargetPercent: c.TargetPercent, MinReplicas: c.MinReplicas, MaxReplicas: c.MaxReplicas, Seeds: c.Seeds}
	if c.Seeds < 1 {
		return r, fmt.Errorf("seeds: %d, want at least 1", c.Seeds)
	}
	names, err := c.loads()
	if err != nil {
		return r, err
	}
	say := c.Say
	if say == nil {
		say = func(string, ...any) {}
	}
	r.Loads = make([]Load, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		group.Go(func() error {
			l, err := c.play(ctx, name)
			if err == nil {
				r.Loads[i] = l
				say("%s: %.0f hours, %d seeds", l.Name, l.Hours, c.Seeds)
			}
			return err
		})
	}
	return r, group.Wait()
}

// loads are the names of what is played.
func (c *Config) loads() ([]string, error) {
	if c.Folder == "" {
		var names []string
		for _, name := range load.GeneratedNames() {
			names = append(names, "generated:"+name)
		}
		return names, nil
	}
	entries, err := os.ReadDir(c.Folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".csv.gz") {
			names = append(names, filepath.Join(c.Folder, name))
		}
	}
	if len(names) == 0 {
		return nil, errors.New(c.Folder + ": there is no trace in it: no .csv or .csv.gz")
	}
	return names, nil
}

func (c *Config) play(ctx context.Context, name string) (Load, error) {
	l, err := load.Parse(name)
	if err != nil {
		return Load{}, err
	}
	hpa := c.autoscaler()
	w := simulate.DefaultWorkload()
	w.ReadyAfter = c.ReadyAfter
	w.Complete()
	scene, err := simulate.NewScene(l, w, observehorizontal.HPA(hpa))
	if err != nil {
		return Load{}, err
	}
	if c.For > 0 {
		scene.For = min(scene.For, c.For)
	}
	result := Load{Name: shortName(name), Hours: scene.For.Hours()}
	for seed := range c.Seeds {
		scene.Seed = uint64(seed) + 1
		for side, into := range map[simulate.Side]*[]score.Score{simulate.Upstream: &result.Upstream,
			simulate.Plimsoll: &result.Plimsoll} {
			run, err := simulate.Play(ctx, scene, simulate.Setting{Name: name, Side: side, HPA: hpa}, simulate.Watch{})
			if err != nil {
				return Load{}, fmt.Errorf("%s: %w", name, err)
			}
			*into = append(*into, run.Score)
		}
	}
	return result, nil
}

func shortName(name string) string {
	name = strings.TrimPrefix(name, "generated:")
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".gz"), ".csv")
}

func (c *Config) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MinReplicas: ptr.To(c.MinReplicas), MaxReplicas: c.MaxReplicas,
		Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: "cpu",
				Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(c.TargetPercent),
				},
			},
		}},
	}}
}

package scoreboard

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// board has the common settings of all plays that one table compares.
type board struct {
	ready   time.Duration
	samples Samples
}

// play is one side with one load, once.
type play struct {
	board board
	side  *side
	scene *simulate.Scene
	into  *score.Score
}

// Measure plays everything, on all cores. The result depends on the seeds, and not on the order in which plays end.
func Measure(ctx context.Context, c Config) (Results, error) {
	r := Results{
		TargetPercent: c.TargetPercent, MinReplicas: c.MinReplicas, MaxReplicas: c.MaxReplicas, Seeds: c.Seeds,
		ScoreFromHours: c.ScoreFrom.Hours(),
	}
	if err := c.validate(); err != nil {
		return r, err
	}
	sides, err := c.sides()
	if err != nil {
		return r, err
	}
	sources, err := c.sources()
	if err != nil {
		return r, err
	}
	for i := range sides {
		r.Sides = append(r.Sides, sides[i].name)
	}
	p := progress{say: c.Say, days: c.days(sources, len(sides))}
	for _, b := range c.boards() {
		result := Board{ReadySeconds: b.ready.Seconds(), Samples: b.samples}
		var plays []*play
		for i := range sources {
			more, l, err := c.plays(b, &sources[i], sides)
			if err != nil {
				return r, err
			}
			plays, result.Loads = append(plays, more...), append(result.Loads, l)
		}
		if err := c.run(ctx, plays, &p); err != nil {
			return r, err
		}
		result.summarize(r.Sides)
		r.Boards, r.Days = append(r.Boards, result), p.done
		if c.Done == nil {
			continue
		}
		if err := c.Done(&r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// days returns the number of days that will be played.
func (c *Config) days(sources []source, sides int) float64 {
	sum := 0.0
	for i := range sources {
		for _, l := range sources[i].seeds {
			sum += c.length(l).Hours() / 24
		}
	}
	return sum * float64(len(c.boards())*sides)
}

// length returns the duration of a load's play.
func (c *Config) length(l *load.Load) time.Duration {
	if c.For > 0 {
		return min(l.Length, c.For)
	}
	return l.Length
}

func (c *Config) boards() []board {
	var all []board
	for _, ready := range c.Ready {
		for _, samples := range c.Samples {
			all = append(all, board{ready, samples})
		}
	}
	return all
}

// plays returns those of a load, and the destination of their scores.
func (c *Config) plays(b board, s *source, sides []side) ([]*play, Load, error) {
	l := Load{Name: s.name, Scores: map[string][]score.Score{}}
	var plays []*play
	for n := range c.Seeds {
		scene, err := c.scene(b, s.seeds[n], c.seed(n))
		if err != nil {
			return nil, l, fmt.Errorf("%s: %w", s.name, err)
		}
		l.Hours = (scene.For - scene.ScoreFrom).Hours()
		for i := range sides {
			if l.Scores[sides[i].name] == nil {
				l.Scores[sides[i].name] = make([]score.Score, c.Seeds)
			}
			plays = append(plays, &play{board: b, side: &sides[i], scene: scene, into: &l.Scores[sides[i].name][n]})
		}
	}
	return plays, l, nil
}

// startAfter is the part of the time to ready in which a pod does not run yet.
const startAfter = 2 * time.Second

func (c *Config) scene(b board, l *load.Load, seed uint64) (*simulate.Scene, error) {
	w := simulate.DefaultWorkload()
	w.StartAfter = min(startAfter, b.ready)
	w.ReadyAfter = b.ready - w.StartAfter
	w.Complete()
	scene, err := simulate.NewScene(l, w, observehorizontal.HPA(c.autoscaler(c.TargetPercent)))
	if err != nil {
		return nil, err
	}
	if err := scene.PlayFor(c.length(l)); err != nil {
		return nil, err
	}
	if b.samples == Fresh {
		scene.Timing.Housekeeping = 0
	}
	scene.ScoreFrom, scene.Seed = c.ScoreFrom, seed
	return scene, nil
}

// run runs plays, the longest first so that no core waits long at the end.
func (c *Config) run(ctx context.Context, plays []*play, p *progress) error {
	slices.SortStableFunc(plays, func(a, b *play) int { return int(b.scene.For/time.Second - a.scene.For/time.Second) })
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, one := range plays {
		group.Go(func() error {
			if err := one.run(ctx, c); err != nil {
				return err
			}
			p.played(one)
			return nil
		})
	}
	return group.Wait()
}

func (p *play) days() float64 { return p.scene.For.Hours() / 24 }

func (p *play) run(ctx context.Context, c *Config) error {
	setting := simulate.Setting{
		Name: p.side.name, Side: p.side.of, HPA: c.autoscaler(int32(float64(c.TargetPercent)*p.side.targetPart + 0.5)),
	}
	if p.side.isForecast {
		setting.HPA.Annotations = map[string]string{
			observehorizontal.ForecastAnnotation: string(plimsollv1alpha1.ForecastActive),
		}
	}
	if p.side.floor != nil {
		setting.Floor = p.side.floor(p)
	}
	run, err := simulate.Play(ctx, p.scene, setting, simulate.Watch{})
	if err != nil {
		return fmt.Errorf("%s, %s: %w", p.scene.Load.Name, p.side.name, err)
	}
	*p.into = run.Score
	return nil
}

// progress prints the progress at each full percent of the days.
type progress struct {
	say  func(format string, args ...any)
	days float64

	// mu guards what follows.
	mu   sync.Mutex
	done float64
	last int
}

func (p *progress) played(one *play) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += one.days()
	percent := int(100*p.done/p.days + 1e-9)
	if p.say == nil || percent == p.last {
		return
	}
	p.last = percent
	p.say("%3d %% of %.0f days; last %s, ready after %v, %s samples, %s", percent, p.days, one.scene.Load.Name,
		one.board.ready, one.board.samples, one.side.name)
}

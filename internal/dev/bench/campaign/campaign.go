package campaign

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// Config configures a campaign.
type Config struct {
	// Cases chooses by name; nil chooses all.
	Cases *regexp.Regexp
	// Seeds are the seeds with which each case is played. They determine all chance other than a case's own parameters:
	// arrivals, and the phases of controllers and kubelets.
	Seeds    []uint64
	Kubelets Kubelets
	// Ablations are played beside upstream and Plimsoll.
	Ablations []Side
	// Say is called with the progress; it may be nil.
	Say func(format string, args ...any)
}

// Results are the measurements.
type Results struct {
	Machine        report.Machine `json:"machine"`
	Seeds          []uint64       `json:"seeds"`
	Kubelets       string         `json:"kubelets"`
	Cases          int            `json:"cases"`
	ElapsedSeconds float64        `json:"elapsedSeconds"`
	// Sides are upstream, Plimsoll and then the ablations.
	Sides []string `json:"sides"`
	// Worse are the cases that are worse than upstream.
	Worse []Worse `json:"worse"`
	// Plays are in the order of cases, seeds and sides.
	Plays []Play `json:"plays"`
}

// Play is a case that one side played with one seed.
type Play struct {
	Case   string `json:"case"`
	Family string `json:"family"`
	Side   string `json:"side"`
	Seed   uint64 `json:"seed"`
	Figures
}

// sides returns the sides to play.
func (c *Config) sides() []Side { return append([]Side{upstream, plimsoll}, c.Ablations...) }

// chosen are the cases to play.
func (c *Config) chosen() ([]*Case, error) {
	if len(c.Seeds) == 0 {
		return nil, errors.New("seeds: want at least one")
	}
	cases := Cases()
	if c.Cases != nil {
		cases = slices.DeleteFunc(cases, func(one *Case) bool { return !c.Cases.MatchString(one.Name) })
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("cases: none has a name that matches %s", c.Cases)
	}
	return cases, nil
}

// plays are all, in the order of cases, seeds and sides.
func (c *Config) plays(cases []*Case, sides []Side) []play {
	var plays []play
	for _, one := range cases {
		for _, seed := range c.Seeds {
			for i := range sides {
				plays = append(plays, play{c: one, kubelets: &c.Kubelets, side: &sides[i], seed: seed})
			}
		}
	}
	return plays
}

// Measure plays everything, on all cores. The order in which plays end does not matter.
func Measure(ctx context.Context, c Config) (*Results, error) {
	cases, err := c.chosen()
	if err != nil {
		return nil, err
	}
	began, sides := time.Now(), c.sides()
	plays := c.plays(cases, sides)
	r := &Results{
		Machine: report.ThisMachine(began), Seeds: c.Seeds, Kubelets: c.Kubelets.Name, Cases: len(cases),
		Plays: make([]Play, len(plays)),
	}
	for i := range sides {
		r.Sides = append(r.Sides, sides[i].Name)
	}
	p := newProgress(len(r.Plays), c.Say)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range plays {
		one := &plays[i]
		group.Go(func() error {
			figures, err := one.run(ctx)
			if err != nil {
				return err
			}
			r.Plays[i] = Play{
				Case: one.c.Name, Family: one.c.Family, Side: one.side.Name, Seed: one.seed, Figures: figures,
			}
			p.played(one.c.Name)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i := range limits {
		worse, _ := r.worse(&limits[i])
		r.Worse = append(r.Worse, worse...)
	}
	r.ElapsedSeconds = time.Since(began).Seconds()
	return r, nil
}

// play is a case that one side plays with one seed.
type play struct {
	c        *Case
	kubelets *Kubelets
	side     *Side
	seed     uint64
	// decided is called after each decision; it may be nil.
	decided func(at time.Duration, o *horizontal.Observation, d *horizontal.Decision)
}

func (p *play) run(ctx context.Context) (Figures, error) {
	scene, err := p.c.scene(p.kubelets, p.seed)
	if err != nil {
		return Figures{}, fmt.Errorf("%s: %w", p.c.Name, err)
	}
	if p.side.Told {
		scene.Timing.Plimsoll.Sync = time.Second
	}
	j := judge{c: p.c}
	run, err := simulate.Play(ctx, scene, p.c.setting(p.side), simulate.Watch{
		Moment: j.second,
		Decision: func(at time.Duration, o *horizontal.Observation, d *horizontal.Decision) {
			j.decided(at, d)
			if p.decided != nil {
				p.decided(at, o, d)
			}
		},
	})
	if err != nil {
		return Figures{}, fmt.Errorf("%s, %s: %w", p.c.Name, p.side.Name, err)
	}
	return j.finish(run), nil
}

// progress prints the progress from time to time.
type progress struct {
	say func(format string, args ...any)
	all int

	// mu guards what follows.
	mu   sync.Mutex
	done int
	said time.Time
}

// sayEvery is the shortest time between two lines of progress.
const sayEvery = 5 * time.Second

func newProgress(all int, say func(format string, args ...any)) *progress {
	return &progress{say: say, all: all, said: time.Now()}
}

func (p *progress) played(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if now := time.Now(); p.say != nil && now.Sub(p.said) >= sayEvery {
		p.said = now
		p.say("%3d %% of %d plays; last %s", 100*p.done/p.all, p.all, name)
	}
}

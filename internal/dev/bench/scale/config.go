package scale

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/telemetry"
)

// Decisions is a way to detect an autoscaler's decisions.
type Decisions string

// The ways.
const (
	// FromLog reads a line about every decision, which costs the subject some microseconds.
	FromLog Decisions = "log"
	// FromRequests is for subjects with a request to the metrics API for each object, as upstream's.
	FromRequests Decisions = "requests"
	// OnlyCounted only counts decisions: neither periods nor ages are known then, and the detection costs nothing.
	OnlyCounted Decisions = "count"
)

// Config configures Run.
type Config struct {
	Size population.Size
	// VerticalObjects is the number of Deployments that have a VerticalPodAutoscaler of mode Off as well: Plimsoll then
	// recommends beside scaling. 0 leaves the definitions of these objects out, as in a cluster that has none.
	VerticalObjects int
	// Runs is the number of runs of each subject.
	Runs int
	// Subjects are measured one after the other in each run.
	Subjects []Subject

	// Settle is the least time between a subject's start and its measurement. The measurement also waits until every
	// object has been decided once, and until no more statuses are written than at rest.
	Settle time.Duration
	// Window is the minimum length of a measurement, PlimsollWindow that of Plimsoll. It continues until a period of every
	// object has ended in it.
	Window, PlimsollWindow time.Duration
	// Patience is the longest that a measurement waits for the first decisions, again for the statuses, and again for the
	// periods.
	Patience time.Duration
	// Idle is the length of a measurement of the API server without any autoscaler.
	Idle time.Duration

	// Resolution is metrics-server's; 0 means its manifests'.
	Resolution time.Duration
	// Noise is the amplitude of the pods' CPU; 0 means telemetry.DefaultNoise.
	Noise float64
	// Decisions is the way to detect Plimsoll's; empty means FromLog.
	Decisions Decisions

	// Nice is the nice value that the subjects start with: below zero they get their share of
	// the processor before the control plane and the kubelets do.
	Nice int

	// BinDir has the control plane's binaries, Plimsoll is Plimsoll's.
	BinDir, Plimsoll string
	// Out gets the progress.
	Out io.Writer
}

// The defaults of Config. Upstream's sync period is 15 s: a window of two. Plimsoll writes status once a minute at
// most: one of those.
const (
	DefaultRuns           = 3
	DefaultSettle         = 10 * time.Second
	DefaultWindow         = 30 * time.Second
	DefaultPlimsollWindow = time.Minute
	DefaultPatience       = 15 * time.Minute
	DefaultIdle           = 5 * time.Second
)

func (c Config) completed() (Config, error) {
	var err error
	if c.Size, err = c.Size.Completed(); err != nil {
		return c, err
	}
	if c.Decisions == "" {
		c.Decisions = FromLog
	}
	if err := c.validate(); err != nil {
		return c, err
	}
	if c.Resolution == 0 {
		c.Resolution = telemetry.DefaultResolution
	}
	if c.Noise == 0 {
		c.Noise = telemetry.DefaultNoise
	}
	if c.Out == nil {
		c.Out = io.Discard
	}
	return c, nil
}

func (c *Config) validate() error {
	if err := c.validateSubjects(); err != nil {
		return err
	}
	if c.VerticalObjects < 0 || c.VerticalObjects > c.Size.Objects {
		return fmt.Errorf("there are %d objects, so that %d cannot have a VerticalPodAutoscaler", c.Size.Objects,
			c.VerticalObjects)
	}
	if c.Settle < 0 || c.Window <= 0 || c.PlimsollWindow <= 0 || c.Patience <= 0 || c.Idle <= 0 {
		return fmt.Errorf("settle %s must not be negative, windows %s and %s, patience %s and idle %s must be positive",
			c.Settle, c.Window, c.PlimsollWindow, c.Patience, c.Idle)
	}
	if c.Decisions != FromLog && c.Decisions != FromRequests && c.Decisions != OnlyCounted {
		return fmt.Errorf("decisions can be seen by %s, by %s and by %s, not by %q", FromLog, FromRequests, OnlyCounted,
			c.Decisions)
	}
	if c.BinDir == "" || c.Plimsoll == "" {
		return errors.New("the folder of the control plane's binaries and Plimsoll's binary are needed")
	}
	return nil
}

func (c *Config) validateSubjects() error {
	if c.Runs < 1 || len(c.Subjects) == 0 {
		return errors.New("there must be at least one run and one subject")
	}
	for _, s := range c.Subjects {
		if s.autoscalers() != population.HPAs && s.Kind != Plimsoll {
			return fmt.Errorf("%s: only Plimsoll decides WorkloadAutoscalers", s.Name)
		}
		if s.HasLearnt && (s.Kind != Plimsoll || s.autoscalers() != population.HPAs) {
			return fmt.Errorf("%s: only Plimsoll goes on from what was learnt, here of HPAs alone", s.Name)
		}
		if err := c.validateAgents(&s); err != nil {
			return err
		}
		if err := s.validatePages(); err != nil {
			return err
		}
		if s.OwnMetrics && (c.Size.PodsPer > population.MostPods || c.Size.Objects > population.MostObjects) {
			return fmt.Errorf("%s: there are addresses for %d objects with %d pods", s.Name, population.MostObjects,
				population.MostPods)
		}
	}
	return nil
}

func (s *Subject) validatePages() error {
	if s.Pages < 0 || s.Pages > 0 && (s.Kind != Plimsoll || s.autoscalers() != population.HPAs) {
		return fmt.Errorf("%s: pages show HPAs here, and what Plimsoll has recorded of them", s.Name)
	}
	return nil
}

func (c *Config) validateAgents(s *Subject) error {
	switch {
	case !s.NodeAgents:
		return nil
	case s.Kind != Plimsoll || s.OwnMetrics:
		return fmt.Errorf("%s: only Plimsoll requests agents of nodes, for what they measure", s.Name)
	case c.VerticalObjects > 0:
		return fmt.Errorf("%s: agents would answer the recommender too, and its samples be taken for those of decisions",
			s.Name)
	}
	return nil
}

package scale

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/bench/scale/telemetry"
)

// Config says what to measure.
type Config struct {
	Size population.Size
	// Runs is how often each subject is started and measured.
	Runs int
	// Subjects are measured one after the other in each run.
	Subjects []Subject

	// Settle is the least time between a subject's start and its measurement. The measurement also waits until every
	// object has been decided once.
	Settle time.Duration
	// Window is the least length of a measurement. It goes on until a period of every object has ended in it.
	Window time.Duration
	// Patience is the longest that a measurement waits for the first decisions, and again for the periods.
	Patience time.Duration
	// Idle is how long the API server is watched without any autoscaler.
	Idle time.Duration

	// Resolution is metrics-server's; 0 means its manifests'.
	Resolution time.Duration
	// Noise is the amplitude of the pods' CPU; 0 means telemetry.DefaultNoise.
	Noise float64
	// DecisionsFromRequests takes Plimsoll's decisions from its questions to the metrics API, like upstream's, instead of
	// its log: for when it does not ask the kubelets.
	DecisionsFromRequests bool

	// BinDir has the control plane's binaries, Plimsoll is Plimsoll's.
	BinDir, Plimsoll string
	// Out is told of the progress.
	Out io.Writer
}

// The defaults of Config. Upstream's sync period, and Plimsoll's, is 15 s: a window of two.
const (
	DefaultRuns     = 3
	DefaultSettle   = 15 * time.Second
	DefaultWindow   = 30 * time.Second
	DefaultPatience = 15 * time.Minute
	DefaultIdle     = 10 * time.Second
)

func (c Config) completed() (Config, error) {
	var err error
	if c.Size, err = c.Size.Completed(); err != nil {
		return c, err
	}
	if c.Runs < 1 || len(c.Subjects) == 0 {
		return c, errors.New("there must be at least one run and one subject")
	}
	if c.Settle < 0 || c.Window <= 0 || c.Patience <= 0 || c.Idle <= 0 {
		return c, fmt.Errorf("settle %s must not be negative, window %s, patience %s and idle %s must be positive", c.Settle, c.Window, c.Patience, c.Idle)
	}
	if c.BinDir == "" || c.Plimsoll == "" {
		return c, errors.New("the folder of the control plane's binaries and Plimsoll's binary are needed")
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

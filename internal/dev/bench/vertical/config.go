package vertical

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Kind is a vertical autoscaler.
type Kind string

// The vertical autoscalers. Plimsoll runs as its controller, which has both parts, or as two processes as upstream
// does.
const (
	Upstream      Kind = "upstream"
	Plimsoll      Kind = "plimsoll"
	PlimsollAlone Kind = "plimsoll-alone"
)

// Subject is a vertical autoscaler with the flags that each of its processes has.
type Subject struct {
	Name  string   `json:"name"`
	Kind  Kind     `json:"kind"`
	Flags []string `json:"flags"`
}

// OpenedFlags take the clients' throttling away, which bounds everything else.
func OpenedFlags() []string { return []string{"--kube-api-qps=1000", "--kube-api-burst=2000"} }

// The modes in which pods are changed.
const (
	Recreate          = "Recreate"
	InPlaceOrRecreate = "InPlaceOrRecreate"
)

// Config configures Run.
type Config struct {
	// Objects is the number of VerticalPodAutoscalers, each with a Deployment of PodsPer pods.
	Objects, PodsPer int
	// Mode is that of all objects.
	Mode string
	// Runs is the number of runs of each subject.
	Runs     int
	Subjects []Subject
	// Passes is the number of passes of a subject at rest that are measured: each is a minute.
	Passes int
	// Patience is the longest wait for recommendations, for a pass and for pods.
	Patience time.Duration

	// BinDir has the control plane's binaries.
	BinDir string
	// Recommender and Updater are upstream's binaries, Plimsoll is Plimsoll's.
	Recommender, Updater, Plimsoll string
	// Out gets the progress.
	Out io.Writer
}

// The defaults of Config.
const (
	DefaultObjects  = 1000
	DefaultPodsPer  = 2
	DefaultRuns     = 3
	DefaultPasses   = 2
	DefaultPatience = 5 * time.Minute
)

func (c Config) completed() (Config, error) {
	if c.Out == nil {
		c.Out = io.Discard
	}
	if c.Mode == "" {
		c.Mode = Recreate
	}
	err := c.validate()
	return c, err
}

func (c *Config) validate() error {
	if c.Objects < 1 || c.PodsPer < 2 || c.Runs < 1 || len(c.Subjects) == 0 {
		return errors.New(
			"there must be at least one object, two pods of each, of which one can be evicted, one run and one subject")
	}
	if c.Passes < 1 || c.Patience <= 0 {
		return fmt.Errorf("%d passes and patience %s must be positive", c.Passes, c.Patience)
	}
	if !slices.Contains([]string{Recreate, InPlaceOrRecreate}, c.Mode) {
		return fmt.Errorf("mode %q is none of %s and %s", c.Mode, Recreate, InPlaceOrRecreate)
	}
	if c.BinDir == "" || c.Recommender == "" || c.Updater == "" || c.Plimsoll == "" {
		return errors.New("the folder of the control plane's binaries, upstream's binaries and Plimsoll's are needed")
	}
	return nil
}

// actions is the number of pods that one pass may change: half of each workload's, rounded down, at the default
// tolerance; in place as many, as those that are being changed count as disrupted.
func (c *Config) actions() int { return c.Objects * (c.PodsPer / 2) }

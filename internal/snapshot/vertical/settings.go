package vertical

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Settings are the values of the flags of the recommender and the updater. Divergences are the caller's choice.
type Settings struct {
	Recommender observevertical.RecommendFlags
	Updater     update.Policy
	Gates       observevertical.Gates
	// KnowsGates is true if the gates were given; otherwise the object's status may show them.
	KnowsGates bool

	// maxAllowed are --container-recommendation-max-allowed-{cpu,memory}, 0 for none, and overrides permits overrides in
	// objects: flags whose settings have other forms.
	maxAllowed [vertical.Resources]int64
	overrides  bool
}

// DefaultSettings are the flags' defaults.
func DefaultSettings() Settings {
	return Settings{
		Recommender: observevertical.RecommendFlags{Policy: recommend.DefaultPolicy()}, Updater: update.DefaultPolicy(),
		overrides: true,
	}
}

const gatePrefix = "updater-feature-gates."

func isGate(flag string) bool { return strings.HasPrefix(flag, gatePrefix) }

// values returns pointers to the values of flags, by upstream's names.
func (s *Settings) values() map[string]any {
	e, u := &s.Recommender.Policy.Policy, &s.Updater
	cpu, memory := &e.Percentiles[vertical.CPU], &e.Percentiles[vertical.Memory]
	return map[string]any{
		"recommendation-margin-fraction":                       &e.MarginFraction,
		"target-cpu-percentile":                                &cpu.Target,
		"recommendation-lower-bound-cpu-percentile":            &cpu.Lower,
		"recommendation-upper-bound-cpu-percentile":            &cpu.Upper,
		"target-memory-percentile":                             &memory.Target,
		"recommendation-lower-bound-memory-percentile":         &memory.Lower,
		"recommendation-upper-bound-memory-percentile":         &memory.Upper,
		"confidence-interval-cpu":                              &e.ConfidenceInterval[vertical.CPU],
		"confidence-interval-memory":                           &e.ConfidenceInterval[vertical.Memory],
		"pod-recommendation-min-cpu-millicores":                &e.PodMin[vertical.CPU],
		"pod-recommendation-min-memory-mb":                     &e.PodMin[vertical.Memory],
		"round-cpu-millicores":                                 &e.Round[vertical.CPU],
		"round-memory-bytes":                                   &e.Round[vertical.Memory],
		"humanize-memory":                                      &e.HumanizeMemory,
		"container-recommendation-max-allowed-cpu":             &s.maxAllowed[vertical.CPU],
		"container-recommendation-max-allowed-memory":          &s.maxAllowed[vertical.Memory],
		"cpu-histogram-decay-half-life":                        &e.Usage.HalfLife[vertical.CPU],
		"memory-histogram-decay-half-life":                     &e.Usage.HalfLife[vertical.Memory],
		"memory-aggregation-interval":                          &e.Usage.Interval,
		"memory-aggregation-interval-count":                    &e.Usage.Count,
		"oom-bump-up-ratio":                                    &e.Usage.BumpUpRatio,
		"oom-min-bump-up-bytes":                                &e.Usage.MinBumpUpBytes,
		"cpu-integer-post-processor-enabled":                   &s.Recommender.IntegerCPU,
		"recommender-feature-gates.PerVPAConfig":               &s.overrides,
		"min-replicas":                                         &u.MinReplicas,
		"eviction-tolerance":                                   &u.Tolerance,
		"pod-update-threshold":                                 &u.MinChange,
		"in-recommendation-bounds-eviction-lifetime-threshold": &u.Lifetime,
		"evict-after-oom-threshold":                            &u.AfterOOM,
		"in-place-skip-disruption-budget":                      &u.SkipBudget,
		gatePrefix + "InPlace":                                 &s.Gates.InPlace,
		gatePrefix + "CPUStartupBoost":                         &s.Gates.CPUStartupBoost,
		gatePrefix + "PerVPAConfig":                            &s.Gates.PerVPAConfig,
	}
}

// Flags returns all settings, also those with default values: a snapshot means the same after a change of the defaults.
func (s *Settings) Flags() map[string]string {
	for r := range vertical.Resource(vertical.Resources) {
		amount, _ := s.Recommender.Policy.MaxAllowed.Get(r)
		s.maxAllowed[r] = int64(amount)
	}
	s.overrides = !s.Recommender.NoOverrides
	flags := map[string]string{}
	for name, value := range s.values() {
		if isGate(name) && !s.KnowsGates {
			continue
		}
		flags[name] = format(value)
	}
	return flags
}

// Settings returns the flags with the defaults of absent ones.
func (s *Step) Settings() (Settings, error) {
	settings := DefaultSettings()
	values := settings.values()
	for _, name := range slices.Sorted(maps.Keys(s.Snapshot.Flags)) {
		value, ok := values[name]
		if !ok {
			return settings, fmt.Errorf("flags: unknown flag %q", name)
		}
		if err := parse(value, s.Snapshot.Flags[name]); err != nil {
			return settings, fmt.Errorf("flags.%s: %w", name, err)
		}
		if isGate(name) {
			settings.KnowsGates = true
		}
	}
	settings.Recommender.NoOverrides = !settings.overrides
	for r := range vertical.Resource(vertical.Resources) {
		if most := settings.maxAllowed[r]; most > 0 {
			settings.Recommender.Policy.MaxAllowed = settings.Recommender.Policy.MaxAllowed.With(r, vertical.Amount(most))
		}
	}
	err := settings.check()
	return settings, err
}

// check refuses values that no formula can use.
func (s *Settings) check() error {
	e := &s.Recommender.Policy
	for r := range vertical.Resource(vertical.Resources) {
		p := &e.Percentiles[r]
		switch {
		case max(p.Target, p.Lower, p.Upper) > 1:
			return fmt.Errorf("flags: percentiles of %s %v, must be from 0 to 1", r, *p)
		case e.Usage.HalfLife[r] <= 0 || e.ConfidenceInterval[r] <= 0:
			return fmt.Errorf("flags: the half-life and the confidence interval of %s must be greater than 0", r)
		}
	}
	if e.Usage.Interval <= 0 || e.Usage.Count < 1 || e.Usage.BumpUpRatio < 1 {
		return errors.New(
			"flags: memory-aggregation-interval and its count must be greater than 0, oom-bump-up-ratio at least 1")
	}
	return nil
}

func format(value any) string {
	switch v := value.(type) {
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *time.Duration:
		return v.String()
	case *int:
		return strconv.Itoa(*v)
	case *int64:
		return strconv.FormatInt(*v, 10)
	case *bool:
		return strconv.FormatBool(*v)
	}
	panic(fmt.Sprintf("a flag of type %T", value))
}

// parse parses the output of format. No flag may be negative.
func parse(value any, text string) error {
	var err error
	var negative bool
	switch v := value.(type) {
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
		negative = !(*v >= 0) || math.IsInf(*v, 0)
	case *time.Duration:
		*v, err = time.ParseDuration(text)
		negative = *v < 0
	case *int:
		*v, err = strconv.Atoi(text)
		negative = *v < 0
	case *int64:
		*v, err = strconv.ParseInt(text, 10, 64)
		negative = *v < 0
	case *bool:
		*v, err = strconv.ParseBool(text)
	}
	if err != nil {
		return fmt.Errorf("%q cannot be read", text)
	}
	if negative {
		return fmt.Errorf("%q, must be a number and not negative", text)
	}
	return nil
}

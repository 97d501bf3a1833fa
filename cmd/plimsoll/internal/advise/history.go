package advise

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/recurring"
	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
)

const (
	// peakPart is the part of maxReplicas that the peak of a load in a file asks for, unless the user says what a pod
	// serves: as in simulations.
	peakPart = 0.7
	// maxPods is the largest load in a file that can be meant.
	maxPods = 1e6
)

// historyOptions say where the load of earlier days is from.
type historyOptions struct {
	files       []string
	podCapacity float64
	startUp     time.Duration
	timeZone    string
	prometheus  flags.Prometheus
	length      string

	location *time.Location
	// lasts is how long a time Prometheus is asked for, and client asks it; nil without --prometheus-address.
	lasts  time.Duration
	client *prometheushistory.Client
}

func (h *historyOptions) add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&h.files, "history", nil,
		"CSV file of the load of earlier days, timestamp,value: [[NAMESPACE/]NAME=]FILE, with the name of the autoscaler "+
			"if there are several. Can be repeated.")
	fs.Float64Var(&h.podCapacity, "pod-capacity", 0,
		"The load of --history, in its own units, that one pod serves at 100 % of its CPU request. By default the peak of "+
			"the load needs 70 % of maxReplicas.")
	fs.DurationVar(&h.startUp, "startup-time", 0,
		"The time from a scale-up until a new pod is ready; by default the time that the cluster's pods took, otherwise 1m.")
	fs.StringVar(&h.timeZone, "time-zone", "Etc/UTC",
		"The time zone of proposed schedules, by its name in the IANA database.")
	h.prometheus.Config = prometheushistory.DefaultConfig()
	// Containers that several jobs scrape count once.
	h.prometheus.Config.Address, h.prometheus.Config.Job = "", ""
	h.prometheus.Add(fs)
	h.prometheus.AddLoad(fs)
	fs.StringVar(&h.length, "history-length", "21d", "How far back Prometheus is queried.")
}

func (h *historyOptions) validate() error {
	var errs flags.Errors
	errs.Check(h.podCapacity >= 0 && !math.IsInf(h.podCapacity, 0), "pod-capacity", h.podCapacity,
		"must be a number of at least 0")
	errs.Check(h.startUp >= 0 && h.startUp <= recurring.MaxStartUp, "startup-time", h.startUp,
		fmt.Sprintf("must be within 0 and %s", recurring.MaxStartUp))
	var err error
	h.location, err = time.LoadLocation(h.timeZone)
	errs.Check(err == nil && !slices.Contains([]string{"", "local"}, strings.ToLower(h.timeZone)), "time-zone", h.timeZone,
		"must be the name of a time zone in the IANA database")
	if h.prometheus.Config.Address == "" {
		return errs.Join()
	}
	h.lasts, err = prometheushistory.ParseDuration(h.length)
	errs.Check(err == nil && h.lasts >= time.Hour && h.lasts <= prometheushistory.MaxLoadDays*24*time.Hour,
		"history-length", h.length, fmt.Sprintf("must be a duration within 1h and %dd", prometheushistory.MaxLoadDays))
	h.prometheus.Parse(errs.Check)
	h.client, err = prometheushistory.New(h.prometheus.Config)
	errs.Add(err)
	return errs.Join()
}

func (h *historyOptions) readFiles(c *objects.Collection) error {
	for _, text := range h.files {
		name, file, isNamed := strings.Cut(text, "=")
		if !isNamed {
			name, file = "", text
		}
		a, err := autoscaler(c, name)
		if err != nil {
			return fmt.Errorf("--history=%s: %w", text, err)
		}
		l, err := h.readFile(c, a, file)
		if err != nil {
			return fmt.Errorf("--history=%s: %w", text, err)
		}
		remember(c, a, l)
	}
	return nil
}

func remember(c *objects.Collection, a *objects.Horizontal, l *objects.Load) {
	if c.Loads == nil {
		c.Loads = map[string]*objects.Load{}
	}
	c.Loads[a.Namespace+"/"+a.Name] = l
}

// autoscaler is the one of that name, or the only one.
func autoscaler(c *objects.Collection, name string) (*objects.Horizontal, error) {
	var found []*objects.Horizontal
	for _, a := range c.Horizontals {
		if name == "" || name == a.Name || name == a.Namespace+"/"+a.Name {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && name != "":
		return nil, fmt.Errorf("there is no autoscaler %q", name)
	case len(found) == 0:
		return nil, errors.New("there is no autoscaler")
	}
	return nil, fmt.Errorf("there are %d such autoscalers: write NAMESPACE/NAME=FILE for one", len(found))
}

func (h *historyOptions) readFile(c *objects.Collection, a *objects.Horizontal, name string) (*objects.Load, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	trace, err := load.ReadTrace(name, file)
	if err != nil {
		return nil, err
	}
	utilization := utilizationOf(c, a)
	// The last part of a long trace counts.
	minutes := min(int(trace.Length/time.Minute), recurring.MaxMinutes)
	skipped := (trace.Length - time.Duration(minutes)*time.Minute).Truncate(time.Minute)
	values, peak := make([]float64, minutes), 0.0
	for i := range values {
		at := skipped + time.Duration(i)*time.Minute
		if trace.IsMissing(at) {
			values[i] = math.NaN()
			continue
		}
		values[i] = trace.Mean(at, at+time.Minute)
		peak = max(peak, values[i])
	}
	perPod := h.podCapacity * utilization
	if perPod == 0 && peak > 0 {
		perPod = peak / (peakPart * float64(a.Spec.MaxReplicas))
	}
	for i := range values {
		values[i] /= max(perPod, math.SmallestNonzeroFloat64)
	}
	if peak > maxPods*perPod {
		return nil, fmt.Errorf("its peak of %g asks for more than %g pods; set --pod-capacity", peak, float64(maxPods))
	}
	return &objects.Load{
		Start: trace.Start.Add(skipped), Pods: values, Utilization: utilization, StartUp: h.startUp, Location: h.location,
		Source: name,
	}, nil
}

package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	commonflags "github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/forecastreport"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// longestStartUp is the longest start-up that is played.
const longestStartUp = time.Hour

// forecastOptions are the flags of explain --forecast.
type forecastOptions struct {
	isAsked    bool
	startUp    time.Duration
	prometheus commonflags.Prometheus
	length     string

	from forecastreport.PastLoad
}

func (f *forecastOptions) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.isAsked, "forecast", false,
		"instead of the decision, show what a forecast would have done on the past load, day by day")
	fs.DurationVar(&f.startUp, "startup-time", 0,
		"with --forecast, the time from a pod's creation until it is ready; by default the time that the present pods took")
	f.prometheus.Config = prometheushistory.DefaultConfig()
	// Containers that several jobs scrape count once. Without an address, what the controller has recorded is read.
	f.prometheus.Config.Address, f.prometheus.Config.Job = "", ""
	f.prometheus.Add(fs)
	f.prometheus.AddLoad(fs)
	fs.StringVar(&f.length, "history-length", "21d", "With --forecast, how far back the load is read.")
}

// validate makes what --forecast reads with.
func (f *forecastOptions) validate() error {
	var errs commonflags.Errors
	errs.Check(f.startUp >= 0 && f.startUp <= longestStartUp, "startup-time", f.startUp,
		fmt.Sprintf("must be within 0 and %s", longestStartUp))
	f.from.StartUp = f.startUp
	var err error
	f.from.Lasts, err = prometheushistory.ParseDuration(f.length)
	errs.Check(err == nil && f.from.Lasts >= time.Hour && f.from.Lasts <= prometheushistory.MaxLoadDays*24*time.Hour,
		"history-length", f.length, fmt.Sprintf("must be a duration within 1h and %dd", prometheushistory.MaxLoadDays))
	if f.prometheus.Config.Address == "" {
		return errs.Join()
	}
	f.prometheus.Parse(errs.Check)
	f.from.Prometheus, err = prometheushistory.New(f.prometheus.Config)
	errs.Add(err)
	return errs.Join()
}

// validateOther checks what shows something else than the decision.
func (o *explainOptions) validateOther(kind observe.Kind) error {
	switch {
	case !o.forecast.isAsked && (o.forecast.prometheus.Config.Address != "" || o.forecast.startUp != 0):
		return errors.New("--prometheus-address and --startup-time go with --forecast")
	case !o.forecast.isAsked:
		return o.validateLast(kind)
	case o.last != 0:
		return errors.New("--forecast: it has its own --history-length: leave out --last")
	case o.from != "" || o.save != "":
		return errors.New("--forecast reads the past load from a cluster: leave out --from and --save")
	case kind == observe.VerticalPodAutoscaler:
		return errors.New("--forecast: a vpa has none; name an hpa/NAME or a wla/NAME")
	}
	return o.forecast.validate()
}

// showForecast prints what a forecast of an object would have done.
func (o *explainOptions) showForecast(ctx context.Context, reader *explainer.ClusterReader, object observe.Key) error {
	report, err := forecastreport.Read(ctx, reader, object, o.forecast.from, time.Now())
	if err != nil {
		return err
	}
	return o.print(report, func() error { return report.WriteText(o.out, commonflags.Form(o.out).Width) })
}

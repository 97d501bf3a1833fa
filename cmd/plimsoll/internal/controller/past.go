package controller

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/backfill"
	"github.com/plimsoll-dev/plimsoll/internal/process/controller"
)

// pastFlags has the flags about the load from before Plimsoll decided an object.
type pastFlags struct {
	isRead bool
	length string

	// client and lasts are made of them and of the recommender's; client is nil if nothing is read.
	client *prometheushistory.Client
	lasts  time.Duration
}

const pastPrefix = "autoscaler-history-"

func (f *pastFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.isRead, pastPrefix+"from-prometheus", false,
		"Start the load history and the forecast of an HPA or WorkloadAutoscaler with the past CPU load from Prometheus, "+
			"if its checkpoint has less than the 30 hours that a forecast needs. --prometheus-address and its related flags "+
			"name the server (docs/forecast.md).")
	fs.StringVar(&f.length, pastPrefix+"length", "14d", "How far back Prometheus is queried for that history.")
}

// validate makes the client, if one is asked for. It has the recommender's flags of Prometheus.
func (f *pastFlags) validate(check flags.Check, recommender *recommenderFlags) {
	if !f.isRead {
		return
	}
	var err error
	f.lasts, err = prometheushistory.ParseDuration(f.length)
	check(err == nil && f.lasts >= backfill.MinLength && f.lasts <= backfill.MaxLength, pastPrefix+"length", f.length,
		fmt.Sprintf("must be a duration within %s and %s", backfill.MinLength, backfill.MaxLength))
	f.client = recommender.LoadHistory(check)
}

func (f *pastFlags) set(c *controller.Config) {
	if f.client != nil {
		c.Past, c.PastLength = f.client, f.lasts
	}
}

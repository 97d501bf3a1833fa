package advise

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// recordings have what Plimsoll's controller recorded.
type recordings interface {
	History(ctx context.Context, object observe.Key) (*loadhistory.History, loadreport.Source, error)
}

var _ recordings = (*explainer.ClusterReader)(nil)

// openRecordings makes the reader of recorded loads, where no Prometheus is given. It calls no API.
func (o *adviseOptions) openRecordings(config *rest.Config) (err error) {
	if o.history.client == nil {
		o.recorded, err = explainer.NewClusterReader(config, o.finder, explainer.Options{})
	}
	return err
}

// readRecorded reads the loads that the controller recorded, of the autoscalers that have none from elsewhere. Where
// Plimsoll does not decide there are none, and one line says so for all.
func (o *adviseOptions) readRecorded(ctx context.Context, c *objects.Collection) error {
	var first error
	asked, failed := 0, 0
	for _, a := range c.Horizontals {
		if o.recorded == nil || c.LoadOf(a) != nil {
			continue
		}
		if asked++; asked > mostLoads {
			o.unknown = append(o.unknown, fmt.Sprintf(
				"Only the recorded load of the first %d autoscalers was read; choose a namespace.", mostLoads))
			break
		}
		o.doing.Store(fmt.Sprintf("reading the recorded load of %s (%d of %d)", a.Describe(), asked, len(c.Horizontals)))
		err := o.readRecording(ctx, c, a, time.Now())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			failed++
			if first == nil {
				first = err
			}
		}
	}
	if failed > 0 {
		o.unknown = append(o.unknown, fmt.Sprintf("The advice does not consider the recorded load of %d of %d autoscalers, "+
			"which only Plimsoll's controller has: it could not be read; the first error: %v",
			failed, len(c.Horizontals), first))
	}
	return nil
}

func (o *adviseOptions) readRecording(
	ctx context.Context, c *objects.Collection, a *objects.Horizontal, now time.Time,
) error {
	key := observe.HPA(a.Namespace, a.Name)
	if a.Workload != nil {
		key = observe.WLA(a.Namespace, a.Name)
	}
	h, source, err := o.recorded.History(ctx, key)
	if err != nil {
		return err
	}
	// Five minutes are the finest that is left of what is older than a day.
	line, _ := loadhistory.MinutesOf(h, now.Add(-loadhistory.LongestTimeline), now)
	if len(line.Cells) == 0 {
		return fmt.Errorf("nothing is recorded of %s", a.Describe())
	}
	remember(c, a, &objects.Load{
		Start: line.Start, Pods: line.Loads(), Utilization: utilizationOf(c, a), StartUp: o.history.startUp,
		Location: o.history.location, Source: "recorded by Plimsoll, " + source.Text(now),
	})
	return nil
}

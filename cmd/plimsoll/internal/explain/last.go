package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonflags "github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// shortestLast is the shortest time that is worth a plot.
const shortestLast = 10 * time.Second

func (o *explainOptions) validateLast(kind observe.Kind) error {
	switch {
	case o.last == 0:
		return nil
	case o.last < shortestLast || o.last > loadhistory.LongestTimeline:
		return fmt.Errorf("--last: %v, want %v to %v, for which histories are kept", o.last, shortestLast,
			loadhistory.LongestTimeline)
	case o.from != "" || o.save != "":
		return errors.New("--last reads the recorded load from a cluster: leave out --from and --save")
	case kind == observe.VerticalPodAutoscaler:
		return errors.New("--last: no load is recorded of a vpa; name an hpa/NAME or a wla/NAME")
	}
	return nil
}

func (o *explainOptions) showLast(ctx context.Context, reader *explainer.ClusterReader, object observe.Key) error {
	report, err := reader.Report(ctx, object, o.last, time.Now())
	if err != nil {
		return err
	}
	return o.print(report, func() error {
		width, inColour := commonflags.Terminal(o.out)
		style := loadreport.Style{Width: width, TextWidth: commonflags.Form(o.out).Width, InColour: inColour}
		return report.WriteText(o.out, style)
	})
}

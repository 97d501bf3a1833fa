// Package forecastreport reads the past load of an autoscaler, and prints the effect that a forecast would have had,
// before the user turns it on: for people as a table of days, and as JSON.
package forecastreport

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Past is a past load, and the settings of its replay.
type Past struct {
	Object observe.Key
	// Mode is the present one of the object's forecast. IsModeDefault is set if the object has none, and Mode is the
	// controller's default, unless its flag differs.
	Mode          forecast.Mode
	IsModeDefault bool
	Load          replay.Load
	// Source is the origin of the load; Coarse is the number of its minutes that are a part of longer points.
	Source string
	Coarse int
	// OtherMetrics is the number of the object's metrics that the load does not include, and HasSchedules is set if it has
	// schedules: the replay ignores these.
	OtherMetrics int
	HasSchedules bool
	// Config has mode Active. Its StartUp is 0 if no pod shows it; IsGiven is set if the user has given it.
	Config         replay.Config
	IsStartUpGiven bool
}

// Report is the effect that the forecast would have had.
type Report struct {
	Past
	// Known is the number of minutes with a known load.
	Known  int
	Result replay.Result
}

// ErrNoLoad is returned if no load is known.
var ErrNoLoad = errors.New("no minute of its load is known")

// New replays the load. It ignores unknown minutes at the end: the most recent ones are always unknown.
func New(p Past) (*Report, error) {
	p.Load = trimmed(p.Load)
	r := &Report{Past: p}
	for _, pods := range p.Load.Pods {
		if !math.IsNaN(pods) {
			r.Known++
		}
	}
	if r.Known == 0 {
		return nil, fmt.Errorf("%s %s: %w", p.Object.Kind, p.Object.NamespacedName, ErrNoLoad)
	}
	p.Config.Settings.Mode = forecast.Active
	r.Config = p.Config
	r.Result = replay.Play(&r.Load, &r.Config)
	return r, nil
}

// trimmed returns a load without the unknown minutes at both of its ends.
func trimmed(l replay.Load) replay.Load {
	first, last := 0, len(l.Pods)
	for last > 0 && math.IsNaN(l.Pods[last-1]) {
		last--
	}
	for first < last && math.IsNaN(l.Pods[first]) {
		first++
	}
	l.Pods, l.PerPodMilli = l.Pods[first:last], l.PerPodMilli[min(first, len(l.PerPodMilli)):]
	l.Start = l.Start.Add(time.Duration(first) * time.Minute)
	return l
}

func (r *Report) end() time.Time {
	return r.Load.Start.Add(time.Duration(len(r.Load.Pods)) * time.Minute)
}

// notes returns remarks about the load.
func (r *Report) notes() (notes []string) {
	if r.Coarse > 0 {
		notes = append(notes, fmt.Sprintf("%s of it are recorded in points of five minutes: a jump within minutes is "+
			"blurred there, and lacks less than it did", lasts(r.Coarse)))
	}
	if r.OtherMetrics > 0 {
		notes = append(notes, fmt.Sprintf("metrics other than CPU, %d, are not in it; where one of them asks for more, the "+
			"load was larger", r.OtherMetrics))
	}
	if r.HasSchedules {
		notes = append(notes, "schedules are not played: minReplicas and maxReplicas are those of the spec")
	}
	return notes
}

func lasts(minutes int) string {
	d := time.Duration(minutes) * time.Minute
	if d >= 48*time.Hour {
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
	return fmt.Sprintf("%.1f hours", d.Hours())
}

// startUp returns the origin of the start-up time.
func (r *Report) startUp() string {
	switch {
	case r.IsStartUpGiven:
		return "as given"
	case r.Config.StartUp > 0:
		return "as those that are there took"
	}
	return "assumed, as no pod shows it; --startup-time sets it"
}

// toTurnOn returns the command that sets mode Active.
func (r *Report) toTurnOn() string {
	if r.Object.Kind == observe.WorkloadAutoscaler {
		return fmt.Sprintf(`kubectl patch wla %s -n %s --type=merge -p '{"spec":{"forecast":{"mode":"Active"}}}'`,
			r.Object.Name, r.Object.Namespace)
	}
	return fmt.Sprintf("kubectl annotate hpa %s -n %s --overwrite plimsoll.dev/forecast=Active", r.Object.Name,
		r.Object.Namespace)
}

// atEnd returns the state after the last minute, in a sentence.
func (r *Report) atEnd() string {
	last := &r.Result.Last
	text := last.Text()
	if last.Reason == forecast.ReasonInUse && last.Replicas > 0 {
		text += fmt.Sprintf("; it asks for %d replicas, for the %.1f pods at the target that it expects within %s",
			last.Replicas, last.Expected, last.Horizon.Round(time.Second))
	}
	return text
}

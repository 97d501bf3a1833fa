// Package forecastreport reads the past load of an autoscaler, and prints what a forecast would have done on it, before
// it is turned on: for people as a table of days, and as JSON.
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

// Past is a load of the past, and what it was played with.
type Past struct {
	Object observe.Key
	// Mode is that of the object's forecast today. IsModeDefault says that the object has none, and Mode is what the
	// controller takes then, unless its flag says otherwise.
	Mode          forecast.Mode
	IsModeDefault bool
	Load          replay.Load
	// Source says where the load is from; Coarse is how many of its minutes are a part of longer points.
	Source string
	Coarse int
	// OtherMetrics is how many metrics of the object are not in the load, and HasSchedules says that it has schedules:
	// these are not played.
	OtherMetrics int
	HasSchedules bool
	// Config has mode Active. Its StartUp is 0 where no pod shows it; IsGiven says that the user has given it.
	Config         replay.Config
	IsStartUpGiven bool
}

// Report is what the forecast would have done.
type Report struct {
	Past
	// Known is how many minutes of the load are known.
	Known  int
	Result replay.Result
}

// ErrNoLoad says that nothing is known of a load.
var ErrNoLoad = errors.New("no minute of its load is known")

// New plays the load. Its last minutes count for nothing if they are not known: those that have just passed never are.
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

// notes returns what is to be known of the load.
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

// startUp returns where the start-up time is from.
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

package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// Side is a controller.
type Side struct {
	Name string
	Of   simulate.Side
	// Without are the divergences that are off.
	Without divergence.Set
	// Told: the HPA follows the offered requests, with those of each second.
	Told bool
}

// The sides that are always played.
var (
	upstream = Side{Name: "upstream", Of: simulate.Upstream}
	plimsoll = Side{Name: "Plimsoll", Of: simulate.Plimsoll}
)

// Told is Plimsoll with samples that are never late and never wrong. It is short of capacity only while pods start, and
// for lack of a forecast.
var Told = Side{Name: "told the load", Of: simulate.Plimsoll, Told: true}

// otherwise are the divergences that do not concern how the count follows the load: of errors, limits, messages,
// requests that the campaign's pods do not have, and of counts at zero. All others are switched off one by one by the
// ablation, those too that are added later.
const otherwise = divergence.NoReadyPods | divergence.SucceededPods | divergence.Saturate |
	divergence.UncountedRequests | divergence.LeaveZero | divergence.HistoryByUID | divergence.OutOfRange |
	divergence.AccurateMessages | divergence.DropSeries |
	divergence.PartialContainer | divergence.RejectImplausible | divergence.ZeroBelowMin |
	divergence.ZeroCondition | divergence.InitContainers | divergence.OtherWriter |
	divergence.ActuatedRequests | divergence.PodLevelRequests | divergence.ClaimedRequests

// Ablations are Plimsoll without each of the divergences that concern following the load, and without any divergence.
func Ablations() []Side {
	var sides []Side
	for _, d := range divergence.All() {
		if !otherwise.Has(d) {
			sides = append(sides, Side{Name: "without " + d.String(), Of: simulate.Plimsoll, Without: d})
		}
	}
	return append(sides, Side{Name: "without any", Of: simulate.Plimsoll, Without: divergence.Default})
}

// ParseAblation is Plimsoll without the divergences that are named, with a comma between names.
func ParseAblation(names string) (Side, error) {
	set, err := divergence.Parse(names)
	return Side{Name: "without " + names, Of: simulate.Plimsoll, Without: set}, err
}

// Kubelets configures the times of new samples of the pods' usage, and their containers.
type Kubelets struct {
	Name string
	// Housekeeping is the kubelets' --housekeeping-interval. Agents is how often agents of the nodes read, for
	// Plimsoll's loop; 0 if there are none.
	Housekeeping, Agents time.Duration
	// Sidecars are containers that each pod has beside those of the case.
	Sidecars []world.Sidecar
}

// kubelets are the settings of --kubelets, the default first.
var kubelets = []Kubelets{
	{Name: "default", Housekeeping: 10 * time.Second},
	{Name: "second", Housekeeping: time.Second},
	{Name: "agents", Housekeeping: 10 * time.Second, Agents: 250 * time.Millisecond},
	// It requests nothing, so that the utilization is that of pods without one.
	{Name: "sidecar", Housekeeping: 10 * time.Second, Sidecars: []world.Sidecar{{Name: "sidecar"}}},
}

// KubeletNames are the names of the settings, the default first.
func KubeletNames() []string {
	names := make([]string, len(kubelets))
	for i := range kubelets {
		names[i] = kubelets[i].Name
	}
	return names
}

// ParseKubelets is the setting of a name.
func ParseKubelets(name string) (Kubelets, error) {
	i := slices.IndexFunc(kubelets, func(k Kubelets) bool { return k.Name == name })
	if i < 0 {
		return Kubelets{}, fmt.Errorf("kubelets %q: want one of %s", name, strings.Join(KubeletNames(), ", "))
	}
	return kubelets[i], nil
}

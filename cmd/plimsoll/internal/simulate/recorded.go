package simulate

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/recorded"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// recordedFlags has the flags about the load that Plimsoll has recorded for an object of a cluster.
type recordedFlags struct {
	from   string
	last   time.Duration
	finder leader.Finder
	kube   *genericclioptions.ConfigFlags
}

// shortestLast is the shortest time that is worth a simulation.
const shortestLast = time.Minute

func (f *recordedFlags) add(fs *pflag.FlagSet) {
	f.kube = genericclioptions.NewConfigFlags(true)
	// --as chooses the loop here.
	f.kube.Impersonate, f.kube.ImpersonateUID, f.kube.ImpersonateGroup, f.kube.ImpersonateUserExtra = nil, nil, nil, nil
	fs.StringVar(&f.from, "from", "",
		"hpa/NAME or wla/NAME: play the recorded load of this object of a cluster, against its present spec and against "+
			"those of --set and --hpa.")
	fs.DurationVar(&f.last, "last", 24*time.Hour, "The length of the recorded load to play, up to now.")
	flags.AddFinder(fs, &f.finder)
	f.kube.AddFlags(fs)
}

// record reads what --from names; nil without it.
func (f *simulateFlags) record(ctx context.Context, now time.Time) (*recorded.Object, error) {
	switch {
	case f.recordedFlags.from == "":
		return nil, nil
	case f.load != "":
		return nil, cmderror.Usagef("--from plays the recorded load: leave out --load")
	case f.last < shortestLast || f.last > loadhistory.LongestTimeline:
		return nil, cmderror.Usagef("--last: %v, want %v to %v, for which histories are kept", f.last, shortestLast,
			loadhistory.LongestTimeline)
	}
	kind, name, err := flags.ParseAutoscaler([]string{f.from})
	if err != nil || kind == observe.VerticalPodAutoscaler {
		return nil, cmderror.Usagef("--from: %q, want hpa/NAME or wla/NAME", f.from)
	}
	namespace, err := flags.Namespace(f.kube)
	if err != nil {
		return nil, err
	}
	config, err := flags.RESTConfig(f.kube, "plimsoll-simulate")
	if err != nil {
		return nil, err
	}
	reader, err := explainer.NewClusterReader(config, f.finder, explainer.Options{Controller: explainer.Auto})
	if err != nil {
		return nil, err
	}
	object := observe.Key{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, Kind: kind}
	r, err := recorded.Read(ctx, reader, object, f.last, now)
	if err != nil {
		return nil, complete.Similar(ctx, config, err)
	}
	return r, nil
}

func (f *simulateFlags) writeNotes(out io.Writer, settings []simulate.Setting) {
	notes := simulate.ModeNotes(settings)
	if f.recorded != nil {
		notes = slices.Concat(f.recorded.Notes, notes)
	}
	for _, note := range notes {
		flags.WriteNote(out, note)
	}
}

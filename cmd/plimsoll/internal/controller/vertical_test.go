package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/vertical"
	decidevertical "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// The loop's flags have the same names in plimsoll controller, and their defaults
// are the core's.
func TestRecommenderFlagsInController(t *testing.T) {
	controller, loop := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	flags := &Flags{}
	flags.Add(controller)
	(&vertical.RecommenderFlags{}).Add(loop)
	loop.VisitAll(func(f *pflag.Flag) {
		if got := controller.Lookup(f.Name); got == nil || got.DefValue != f.DefValue {
			t.Errorf("--%s is %v", f.Name, got)
		}
	})
	if err := flags.Validate(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recommend.DefaultPolicy(), flags.Config().Recommender.Policy,
		cmp.AllowUnexported(decidevertical.Amounts{})); diff != "" {
		t.Errorf("defaults (-core +flags):\n%s", diff)
	}
}

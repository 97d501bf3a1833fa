package flags

import (
	"flag"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// ignoredAnnotation marks flags that change nothing.
const ignoredAnnotation = "plimsoll_ignored"

// AddIgnored accepts flags that upstream's manifests may have and that change nothing here: those of upstream's log,
// and these. Help does not show them.
func AddIgnored(fs, others *pflag.FlagSet) {
	log := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(log)
	log.VisitAll(func(each *flag.Flag) {
		added := pflag.PFlagFromGoFlag(each)
		added.Name, added.Shorthand = strings.ReplaceAll(each.Name, "_", "-"), ""
		others.AddFlag(added)
	})
	others.VisitAll(func(each *pflag.Flag) {
		each.Hidden = true
		annotate(others, each.Name, ignoredAnnotation, []string{"true"})
	})
	fs.AddFlagSet(others) // but for those that the set has
}

// Ignored are the flags that were given and change nothing.
func Ignored(fs *pflag.FlagSet) []string {
	var names []string
	fs.Visit(func(each *pflag.Flag) {
		if len(each.Annotations[ignoredAnnotation]) > 0 {
			names = append(names, "--"+each.Name)
		}
	})
	return names
}

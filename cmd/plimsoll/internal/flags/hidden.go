package flags

import (
	"flag"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// AddHiddenLogFlags accepts the log flags of upstream's manifests; Plimsoll's log has no
// use for them.
func AddHiddenLogFlags(fs *pflag.FlagSet) {
	upstream := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(upstream)
	upstream.VisitAll(func(each *flag.Flag) {
		name := strings.ReplaceAll(each.Name, "_", "-")
		if fs.Lookup(name) != nil {
			return
		}
		added := pflag.PFlagFromGoFlag(each)
		added.Name, added.Shorthand, added.Hidden = name, "", true
		fs.AddFlag(added)
	})
}

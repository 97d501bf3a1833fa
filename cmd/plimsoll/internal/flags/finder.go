package flags

import (
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
)

// AddFinder adds the flags that say where Plimsoll's controller is.
func AddFinder(fs *pflag.FlagSet, f *leader.Finder) {
	fs.StringVar(&f.Namespace, "controller-namespace", "plimsoll-system", "the namespace of Plimsoll's controller")
	fs.StringVar(&f.Lease, "controller-lease", "plimsoll-controller", "the name of its Lease")
	fs.IntVar(&f.Port, "controller-port", leader.DefaultPort, "the port of its --inspection-bind-address")
	fs.StringVar(&f.Address, "controller-address", "",
		"host:port of its --inspection-bind-address, if it does not run as a pod")
}

package vertical

import (
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/process"
)

// standaloneFlags are those that upstream's recommender and updater share as processes
// of their own.
type standaloneFlags struct {
	common     flags.Common
	process    process.Standalone
	qps, burst float64
}

// add takes what differs: the address, the Lease, and the help of --v.
func (f *standaloneFlags) add(fs *pflag.FlagSet, address, lease, verbosity string) {
	fs.StringVar(&f.process.Address, "address", address, "The address of /metrics and /health-check.")
	f.common.Add(fs, verbosity)
	fs.Float64Var(&f.qps, "kube-api-qps", 50, "How many requests a second the API server is asked at most.")
	fs.Float64Var(&f.burst, "kube-api-burst", 100, "How many requests may come at once.")
	fs.BoolVar(&f.process.Profiling, "profiling", false,
		"Serve /debug/pprof at --address, to connections from the pod itself alone, such as those of kubectl "+
			"port-forward.")
	f.process.LeaderElection = process.LeaderElection{ResourceName: lease, ResourceNamespace: "kube-system"}
	flags.AddLeaderElection(fs, &f.process.LeaderElection)
	for name, usage := range electionUsages {
		fs.Lookup(name).Usage = usage
	}
}

// electionUsages are the helps of leader election that are other than plimsoll controller's.
var electionUsages = map[string]string{
	"leader-elect":                "Work only while holding the Lease.",
	"leader-elect-lease-duration": "How long others wait for the Lease after it was last renewed.",
	"leader-elect-renew-deadline": "How long the leader tries to renew the Lease before it gives up.",
	"leader-elect-retry-period":   "How long to wait between attempts.",
	"leader-elect-resource-lock":  "The type of the lock; leases is the one there is.",
}

func (f *standaloneFlags) validate(check flags.Check) {
	check(f.qps > 0, "kube-api-qps", f.qps, "must be greater than 0")
	check(f.burst >= 1, "kube-api-burst", f.burst, "must be at least 1")
	f.common.Validate(check)
	flags.ValidateLeaderElection(&f.process.LeaderElection, check)
}

// config is what the flags mean.
func (f *standaloneFlags) config() process.Standalone {
	s := f.process
	s.API = process.API{Kubeconfig: f.common.Kubeconfig, QPS: float32(f.qps), Burst: int(f.burst)}
	return s
}

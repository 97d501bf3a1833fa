package flags

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/process"
)

// AddLeaderElection adds the flags of leader election, with kube-controller-manager's names.
// What e has is the default of the flags that processes differ in: whether there is an
// election, and the Lease.
func AddLeaderElection(fs *pflag.FlagSet, e *process.LeaderElection) {
	fs.BoolVar(&e.Enabled, "leader-elect", e.Enabled,
		"Start a leader election client and gain leadership before executing the main loop.")
	fs.DurationVar(&e.LeaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"The duration that non-leader candidates will wait after observing a leadership renewal until "+
			"attempting to acquire leadership.")
	fs.DurationVar(&e.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"The interval between attempts by the acting leader to renew its leadership before it stops leading.")
	fs.DurationVar(&e.RetryPeriod, "leader-elect-retry-period", 2*time.Second,
		"The duration the clients should wait between attempting acquisition and renewal of a leadership.")
	fs.StringVar(&e.ResourceLock, "leader-elect-resource-lock", "leases",
		"The type of resource object that is used for locking; only leases is supported.")
	AddValues(fs, "leader-elect-resource-lock", Values{All: []string{"leases"}})
	fs.StringVar(&e.ResourceName, "leader-elect-resource-name", e.ResourceName, "The name of the Lease.")
	fs.StringVar(&e.ResourceNamespace, "leader-elect-resource-namespace", e.ResourceNamespace,
		"The namespace of the Lease.")
}

// ValidateLeaderElection checks them.
func ValidateLeaderElection(e *process.LeaderElection, check Check) {
	if !e.Enabled {
		return
	}
	check(e.RetryPeriod > 0, "leader-elect-retry-period", e.RetryPeriod, "must be greater than 0")
	check(e.RenewDeadline > e.RetryPeriod*6/5, "leader-elect-renew-deadline", e.RenewDeadline,
		"must be greater than 1.2 times the retry period")
	check(e.LeaseDuration > e.RenewDeadline, "leader-elect-lease-duration", e.LeaseDuration,
		"must be greater than the renew deadline")
	check(e.ResourceLock == "leases", "leader-elect-resource-lock", e.ResourceLock, "must be leases")
	check(e.ResourceName != "", "leader-elect-resource-name", e.ResourceName, "must not be empty")
}

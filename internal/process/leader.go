package process

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// LeaderElection configures leader election.
type LeaderElection struct {
	Enabled                                   bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// ResourceLock is leases, the only kind.
	ResourceLock, ResourceName, ResourceNamespace string
}

// Apply sets a manager's options.
func (e *LeaderElection) Apply(o *ctrl.Options) {
	o.LeaderElection = e.Enabled
	o.LeaderElectionID, o.LeaderElectionNamespace = e.ResourceName, e.ResourceNamespace
	o.LeaderElectionResourceLock = e.ResourceLock
	o.LeaderElectionReleaseOnCancel = true
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = &e.LeaseDuration, &e.RenewDeadline, &e.RetryPeriod
}

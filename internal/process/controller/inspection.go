package controller

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/plimsoll-dev/plimsoll/internal/controller/inspect"
)

// inspection serves plimsoll explain, in every replica. Only the leader has the history; explain finds it by its Lease.
type inspection struct {
	server *inspect.Server
	log    logr.Logger
}

var _ manager.LeaderElectionRunnable = (*inspection)(nil)

func newInspection(address string, sources inspect.Sources, log logr.Logger) (*inspection, error) {
	server, err := inspect.New(address, sources, log)
	if err != nil {
		return nil, fmt.Errorf("--inspection-bind-address: %w; 0 switches it off", err)
	}
	return &inspection{server: server, log: log}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*inspection) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. Failing to listen is not fatal: autoscaling goes on.
func (i *inspection) Start(ctx context.Context) error {
	if err := i.server.Start(ctx); err != nil {
		i.log.Error(err, "inspection endpoint unavailable, so plimsoll explain cannot read the history; "+
			"see --inspection-bind-address")
	}
	return nil
}

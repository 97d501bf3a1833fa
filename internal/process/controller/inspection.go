package controller

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/plimsoll-dev/plimsoll/internal/controller/inspect"
)

// inspection answers plimsoll explain, in every replica: only the leader knows, and
// who asks finds it by its Lease.
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

// Start implements manager.Runnable. That nobody can look is no reason not to
// autoscale.
func (i *inspection) Start(ctx context.Context) error {
	if err := i.server.Start(ctx); err != nil {
		i.log.Error(err, "plimsoll explain cannot look; see --inspection-bind-address")
	}
	return nil
}

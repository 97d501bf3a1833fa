// Package nodeagent wires the agent of a node as a process.
package nodeagent

import (
	"context"
	"fmt"
	"net"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/process"
)

// Config configures the process.
type Config struct {
	// Address is the address of the listener.
	Address string
	Cgroups cgroup.Config
	// AuthorityFile has the CA of clients, TokenFile the token of the agent's pod.
	AuthorityFile, TokenFile string
}

// Run runs the agent until ctx ends.
func Run(ctx context.Context, cfg *Config, log logr.Logger) error {
	process.Prepare(log)
	tree, err := cgroup.Open(cfg.Cgroups)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }()
	handler, err := nodeagent.NewHandler(tree, log)
	if err != nil {
		return err
	}
	identity, err := nodeagent.NewIdentity(nodeagent.IdentityConfig{
		AuthorityFile: cfg.AuthorityFile, TokenFile: cfg.TokenFile, Log: log,
	})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Address)
	if err != nil {
		return fmt.Errorf("listening at --listen-address: %w", err)
	}
	server := nodeagent.NewServer(handler, identity, log)
	log.Info("serving", "address", listener.Addr().String(), "cgroups", cfg.Cgroups.Directory,
		"version", int(tree.Version()))
	return process.Serve(ctx, server, nodeagent.Listen(listener, identity))
}

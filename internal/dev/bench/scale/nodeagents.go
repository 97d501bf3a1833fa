package scale

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/agents"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/telemetry"
)

// agentNumbers are the counters of the agents of nodes.
type agentNumbers struct {
	answersPerSecond float64
	// cores is the CPU of all agents together for reading counters, and writing and compressing responses.
	cores float64
	// decisionShare is the part of the decisions for which all samples were from agents.
	decisionShare float64
}

func agentsBetween(before, after numbers) agentNumbers {
	seconds := after.subject.at.Sub(before.subject.at).Seconds()
	n := agentNumbers{
		answersPerSecond: float64(after.answers-before.answers) / seconds,
		cores:            (after.agentCPU - before.agentCPU).Seconds() / seconds,
	}
	if all := after.subject.readings - before.subject.readings; all > 0 {
		n.decisionShare = (after.subject.agentReadings - before.subject.agentReadings) / all
	}
	return n
}

// startAgents makes the agents of all nodes, if a subject requests them.
func (b *bench) startAgents(ctx context.Context) error {
	if !slices.ContainsFunc(b.Subjects, func(s Subject) bool { return s.NodeAgents }) {
		return nil
	}
	b.progress.Say("starting the agents of %d nodes", b.Size.Nodes())
	err := agents.Install(ctx, b.cluster)
	if err != nil {
		return err
	}
	b.launcher.agents, err = agents.Start(ctx, agents.Config{
		Client: b.population.Client, Size: b.Size, MemoryBytes: telemetry.MemoryBytes,
		UsedSeconds: b.telemetry.UsedSeconds, Given: b.telemetry.Given,
	})
	return err
}

// awaitAgents waits until the subject has the samples of all nodes from their agents.
func (b *bench) awaitAgents(ctx context.Context, r *running, o *observer) error {
	if !o.hasAgents {
		return nil
	}
	patience, cancel := context.WithTimeoutCause(ctx, b.Patience, errors.New("the controller publishes none"))
	defer cancel()
	if err := b.launcher.agents.LearnAuthority(patience); err != nil {
		return err
	}
	nodes := 0
	err := b.await(ctx, waiting{
		want: b.Size.Nodes(), format: o.title + ": %d of %d nodes' samples come from their agents",
		count: func() int {
			if p, err := exposition.Fetch(ctx, b.launcher.client, r.metrics); err == nil {
				nodes = int(p.Sum("plimsoll_agent_nodes"))
			}
			return nodes
		},
	})
	if err == nil && nodes < b.Size.Nodes() {
		err = fmt.Errorf("the samples of %d of %d nodes come from their agents", nodes, b.Size.Nodes())
	}
	return err
}

package scale

import (
	"context"
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/learnt"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
)

// saveLearnt gives each HPA a checkpoint for the subject to restore, if HasLearnt is set. Those that an earlier
// subject has written are deleted.
func (b *bench) saveLearnt(ctx context.Context, subject *Subject) error {
	if !b.needDefinitions() {
		return nil
	}
	if err := learnt.Forget(ctx, b.population); err != nil || !subject.HasLearnt {
		return err
	}
	b.progress.Say("saving what was learnt of %d objects", b.Size.Objects)
	return learnt.Save(ctx, b.cluster.RESTConfig(), b.population)
}

// awaitLearnt waits until each object has what was saved of it.
func (b *bench) awaitLearnt(ctx context.Context, r *running, o *observer) error {
	if !o.hasLearnt {
		return nil
	}
	restored := 0
	err := b.await(ctx, waiting{
		want: b.Size.Objects, format: o.title + ": %d of %d checkpoints restored",
		count: func() int {
			p, err := exposition.Fetch(ctx, b.launcher.client, r.metrics)
			if err == nil {
				restored = page{p}.restored()
			}
			return restored
		},
	})
	if err == nil && restored < b.Size.Objects {
		err = fmt.Errorf("%d of %d checkpoints are restored", restored, b.Size.Objects)
	}
	return err
}

// restored counts the checkpoints that the subject has restored.
func (p page) restored() (n int) {
	p.Each("plimsoll_autoscaler_checkpoint_reads_total", func(labels map[string]string, count float64) {
		if labels["result"] == "restored" {
			n = int(count)
		}
	})
	return n
}

// needDefinitions reports whether a subject has objects of Plimsoll's own.
func (c *Config) needDefinitions() bool {
	return slices.ContainsFunc(c.Subjects, func(s Subject) bool {
		return s.HasLearnt || s.autoscalers() != population.HPAs
	})
}

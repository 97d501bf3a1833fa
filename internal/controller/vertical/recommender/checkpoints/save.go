package checkpoints

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Update is a decided VerticalPodAutoscaler, whose history may have changed.
type Update struct {
	Autoscaler
	// Policy combines the flags and the VerticalPodAutoscaler.
	Policy *recommend.Policy
	// HadOOM is set if one of its containers ran out of memory since the last pass.
	HadOOM bool
	// Saved has the containers whose checkpoints Save wrote.
	Saved []string
}

// job is a checkpoint to write.
type job struct {
	update    *Update
	container string
	// isFirst is set if there is no checkpoint yet.
	isFirst bool
	due     time.Time
	done    bool
}

// Save writes the changed checkpoints that are due. It writes the first checkpoint of a container at once, and each
// after a container ran out of memory: samples would not show that again. Where few are due, it writes some earlier.
func (s *Store) Save(ctx context.Context, now time.Time, updates []Update) {
	jobs := s.jobs(now, updates)
	s.saveAll(ctx, now, jobs)
	for _, j := range jobs {
		if j.done {
			next := savePeriod
			if j.isFirst {
				next = spread(j.update.Name, j.container) // many containers are new at the same time
			}
			s.due[j.update.Name][j.container] = now.Add(next)
			j.update.Saved = append(j.update.Saved, j.container)
		}
	}
}

func (s *Store) jobs(now time.Time, updates []Update) []*job {
	var jobs, early []*job
	first := 0
	for i := range updates {
		u := &updates[i]
		if !s.maySave(&u.Autoscaler) {
			continue
		}
		for _, container := range u.State.Changed() {
			due, known := s.due[u.Name][container]
			if !known {
				first++
			}
			j := &job{update: u, container: container, isFirst: !known, due: due}
			switch {
			case u.HadOOM || known && !now.Before(due) || !known && first <= maxFirst:
				jobs = append(jobs, j)
			case known && due.Sub(now) <= savePeriod-shortestPeriod:
				early = append(early, j)
			}
		}
	}
	if places := fewPerPass - len(jobs); places > 0 {
		slices.SortStableFunc(early, func(a, b *job) int { return a.due.Compare(b.due) })
		jobs = append(jobs, early[:min(places, len(early))]...)
	}
	return jobs
}

// Flush writes every changed checkpoint at the end of the process.
func (s *Store) Flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.FlushTimeout)
	defer cancel()
	var jobs []*job
	for a := range s.Autoscalers.All() {
		if !s.maySave(&a) {
			continue
		}
		u := &Update{Autoscaler: a, Policy: s.Policy}
		for _, container := range a.State.Changed() {
			jobs = append(jobs, &job{update: u, container: container})
		}
	}
	s.saveAll(ctx, time.Now(), jobs)
	written := 0
	for _, j := range jobs {
		if j.done {
			written++
		}
	}
	s.Log.Info("checkpoints written before the exit", "written", written, "of", len(jobs))
}

func (s *Store) saveAll(ctx context.Context, now time.Time, jobs []*job) {
	var writing errgroup.Group
	writing.SetLimit(s.Workers)
	for _, j := range jobs {
		writing.Go(func() error {
			if err := s.saveOne(ctx, now, j); err != nil && ctx.Err() == nil {
				s.Log.Error(err, "writing a checkpoint failed", "object", j.update.Name.String(), "container", j.container)
			}
			return nil
		})
	}
	_ = writing.Wait() // each write logs its error
}

func (s *Store) saveOne(ctx context.Context, now time.Time, j *job) error {
	u := j.update
	saved, ok := u.State.Checkpoint(u.Policy, j.container, now)
	if !ok {
		return nil
	}
	status, annotations, err := observevertical.CheckpointStatus(&saved, now)
	if err != nil {
		return err
	}
	err = s.Client.WriteCheckpoint(ctx, &vpav1.VerticalPodAutoscalerCheckpoint{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.Name.Namespace, Name: s.checkpointName(u.Name, j.container), Annotations: annotations,
		},
		Spec:   vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: u.Name.Name, ContainerName: j.container},
		Status: status,
	})
	j.done = err == nil
	return err
}

// checkpointName returns upstream's name, unless a container of an object with a shorter name has the same one.
func (s *Store) checkpointName(owner types.NamespacedName, container string) string {
	name := vpa.CheckpointName(owner.Name, container)
	for i := range owner.Name {
		if owner.Name[i] != '-' {
			continue
		}
		other, exists := s.Autoscalers.Autoscaler(types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name[:i]})
		if exists && other.has(name[i+1:]) {
			return vpa.DistinctCheckpointName(owner.Name, container)
		}
	}
	return name
}

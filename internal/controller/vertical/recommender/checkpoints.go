package recommender

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/go-logr/logr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	// savePeriod is how often a container's checkpoint is written while there is
	// something new in it: as much is lost if the process is killed.
	savePeriod = 15 * time.Minute
	// maxFirst is how many containers' first checkpoints are written in one pass; the
	// others are in the next ones.
	maxFirst = 1000
	// restorePause is how long to wait before reading them again, if that failed.
	restorePause = 5 * time.Second
)

// stored is a checkpoint that was read.
type stored struct {
	container string
	saved     usage.Checkpoint
	// at is when it was written.
	at time.Time
	// damage is why it cannot be used.
	damage string
}

// checkpoints reads and writes the checkpoints of the tracks.
type checkpoints struct {
	config *Config
	log    logr.Logger
	tracks map[types.NamespacedName]*track
	// unclaimed are checkpoints that were read and belong to no track yet.
	unclaimed map[types.NamespacedName][]stored
	// collected is when those that are not needed were last looked for.
	collected time.Time
}

// restore reads all checkpoints; false if ctx ended before it could.
func (k *checkpoints) restore(ctx context.Context) bool {
	for {
		read := map[types.NamespacedName][]stored{}
		err := k.config.Store.EachCheckpoint(ctx, k.config.Namespace, func(c *vpav1.VerticalPodAutoscalerCheckpoint) {
			if k.config.isIgnored(c.Namespace) {
				return
			}
			owner := types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.VPAObjectName}
			read[owner] = latest(read[owner], k.read(c))
		})
		if err == nil {
			k.unclaimed = read
			return true
		}
		k.log.Error(err, "checkpoints cannot be read; nothing is recommended before they are")
		select {
		case <-ctx.Done():
			return false
		case <-time.After(restorePause):
		}
	}
}

// latest adds a checkpoint, or keeps the newer of two of one container: its name changes
// where another object's container has the same.
func latest(all []stored, s stored) []stored {
	for i := range all {
		if all[i].container != s.container {
			continue
		}
		if all[i].damage != "" || s.damage == "" && all[i].at.Before(s.at) {
			all[i] = s
		}
		return all
	}
	return append(all, s)
}

func (k *checkpoints) read(c *vpav1.VerticalPodAutoscalerCheckpoint) stored {
	saved, isWhole, err := observevertical.CheckpointOf(c)
	if err != nil {
		return stored{container: c.Spec.ContainerName, damage: err.Error()}
	}
	if !isWhole {
		k.log.Info("the annotation of a checkpoint cannot be read; what it held is lost", "checkpoint", c.Namespace+"/"+
			c.Name)
	}
	return stored{container: c.Spec.ContainerName, saved: saved, at: c.Status.LastUpdateTime.Time}
}

// claim gives a new track its checkpoints.
func (k *checkpoints) claim(now time.Time, t *track) {
	policy := k.config.Policy
	for _, s := range k.unclaimed[t.name] {
		t.saves[s.container] = now.Add(spread(t.name, s.container))
		if s.damage != "" {
			t.state = t.state.Damaged(s.container, s.damage)
			continue
		}
		var err error
		if t.state, err = t.state.Restore(&policy, s.container, s.saved, now); err != nil {
			k.log.Info("a checkpoint is damaged", "object", t.name.String(), "container", s.container, "why", err.Error())
		}
	}
	delete(k.unclaimed, t.name)
}

// job is a checkpoint to write.
type job struct {
	track     *track
	work      *work
	container string
	// isFirst is set where there is no checkpoint yet.
	isFirst bool
	done    bool
}

// save writes the checkpoints that have something new and whose time has come. The
// first of a container is written at once, and each after running out of memory: what
// that taught is not measured again.
func (k *checkpoints) save(ctx context.Context, now time.Time, works []*work) {
	if k.config.History != nil {
		return
	}
	var jobs []*job
	first := 0
	for _, w := range works {
		if !w.decided || !k.maySave(w.track) {
			continue
		}
		for _, container := range w.track.state.Changed() {
			due, known := w.track.saves[container]
			if !known {
				first++
			}
			if w.hadOOM || known && !now.Before(due) || !known && first <= maxFirst {
				jobs = append(jobs, &job{track: w.track, work: w, container: container, isFirst: !known})
			}
		}
	}
	k.saveAll(ctx, now, jobs)
	for _, j := range jobs {
		if j.done {
			next := savePeriod
			if j.isFirst {
				next = spread(j.track.name, j.container) // many are new together
			}
			j.track.saves[j.container] = now.Add(next)
			j.work.saved = append(j.work.saved, j.container)
		}
	}
}

// maySave reports whether what is known of an object is what it was before: without
// keep-history, as with upstream, nothing is while its target cannot be looked up.
func (k *checkpoints) maySave(t *track) bool {
	return t.lookup.Problem == "" || k.config.Policy.Has(divergence.KeepHistory)
}

// spread is when in the period a container's checkpoint is written: each has its
// own time.
func spread(object types.NamespacedName, container string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(object.String() + "/" + container)) // it never fails
	return savePeriod * time.Duration(h.Sum32()%1000) / 1000
}

func (k *checkpoints) saveAll(ctx context.Context, now time.Time, jobs []*job) {
	var writing errgroup.Group
	writing.SetLimit(k.config.Workers)
	for _, j := range jobs {
		writing.Go(func() error {
			if err := k.saveOne(ctx, now, j); err != nil && ctx.Err() == nil {
				k.log.Error(err, "a checkpoint was not written", "object", j.track.name.String(), "container", j.container)
			}
			return nil
		})
	}
	_ = writing.Wait() // they tell of their errors themselves
}

// checkpointName is upstream's, unless a container of an object with a shorter name has
// the same.
func (k *checkpoints) checkpointName(object types.NamespacedName, container string) string {
	name := vpa.CheckpointName(object.Name, container)
	for i := range object.Name {
		if object.Name[i] != '-' {
			continue
		}
		other := k.tracks[types.NamespacedName{Namespace: object.Namespace, Name: object.Name[:i]}]
		if other != nil && other.knows(name[i+1:]) {
			return vpa.DistinctCheckpointName(object.Name, container)
		}
	}
	return name
}

func (t *track) knows(container string) bool {
	return slices.ContainsFunc(t.state.Containers, func(c recommend.Container) bool { return c.Name == container })
}

func (k *checkpoints) saveOne(ctx context.Context, now time.Time, j *job) error {
	policy := k.config.Policy
	if j.work != nil {
		policy = j.work.policy
	}
	saved, ok := j.track.state.Checkpoint(&policy, j.container, now)
	if !ok {
		return nil
	}
	status, annotations, err := observevertical.CheckpointStatus(&saved, now)
	if err != nil {
		return err
	}
	err = k.config.Store.WriteCheckpoint(ctx, &vpav1.VerticalPodAutoscalerCheckpoint{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: j.track.name.Namespace, Name: k.checkpointName(j.track.name, j.container), Annotations: annotations,
		},
		Spec:   vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: j.track.name.Name, ContainerName: j.container},
		Status: status,
	})
	j.done = err == nil
	return err
}

// flush writes every checkpoint that has something new.
func (k *checkpoints) flush(ctx context.Context) {
	if k.config.History != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, k.config.FlushTimeout)
	defer cancel()
	var jobs []*job
	for _, t := range k.tracks {
		if !k.maySave(t) {
			continue
		}
		for _, container := range t.state.Changed() {
			jobs = append(jobs, &job{track: t, container: container})
		}
	}
	k.saveAll(ctx, time.Now(), jobs)
	written := 0
	for _, j := range jobs {
		if j.done {
			written++
		}
	}
	k.log.Info("checkpoints written at the end", "written", written, "of", len(jobs))
}

// collect deletes checkpoints of objects that are gone and, with live-containers, of
// containers that nothing is known of any more.
func (k *checkpoints) collect(ctx context.Context, now time.Time) {
	if k.config.History != nil {
		return
	}
	if k.collected.IsZero() {
		k.collected = now // upstream waits for an interval, too
	}
	if now.Sub(k.collected) < k.config.CollectInterval {
		return
	}
	k.collected = now
	var gone []types.NamespacedName
	err := k.config.Store.EachCheckpoint(ctx, k.config.Namespace, func(c *vpav1.VerticalPodAutoscalerCheckpoint) {
		if !k.config.isIgnored(c.Namespace) && !k.isNeeded(c) {
			gone = append(gone, types.NamespacedName{Namespace: c.Namespace, Name: c.Name})
		}
	})
	if err != nil {
		k.log.Error(err, "checkpoints that nobody needs were not looked for")
		return
	}
	for _, name := range gone {
		if err := k.config.Store.DeleteCheckpoint(ctx, name.Namespace, name.Name); err != nil {
			k.log.Error(err, "a checkpoint that nobody needs was not deleted")
			continue
		}
		k.log.V(1).Info("a checkpoint that nobody needs was deleted", "checkpoint", name.String())
	}
}

// isNeeded reports whether there is an object for a checkpoint and, if it is ours,
// anything known of the container.
func (k *checkpoints) isNeeded(c *vpav1.VerticalPodAutoscalerCheckpoint) bool {
	owner := types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.VPAObjectName}
	_, exists, err := k.config.Objects.GetStore().GetByKey(owner.String())
	if err != nil {
		return true
	}
	t, isOurs := k.tracks[owner]
	if !exists || !isOurs || t.lookup.Problem != "" || !k.config.Policy.Has(divergence.LiveContainers) {
		return exists
	}
	return t.knows(c.Spec.ContainerName)
}

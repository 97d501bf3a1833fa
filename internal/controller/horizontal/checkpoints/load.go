package checkpoints

import (
	"context"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	kubecheckpoints "github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// longestLoadPause is the longest pause between two attempts to list the checkpoints.
const longestLoadPause = 5 * time.Minute

// load reads all checkpoints; it returns false if ctx ended before that.
func (k *Keeper) load(ctx context.Context) bool {
	var backoff calls.Backoff
	for {
		err := k.config.Client.Each(ctx, k.keep)
		if err == nil {
			k.loaded()
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		k.series.read(resultListFailed)
		k.problems.note(reasonOf(err), err, "checkpoints of autoscalers cannot be read, and none are written before they are")
		backoff.Note(err, longestLoadPause)
		if timing.Pause(ctx, time.Until(backoff.Until())) != nil {
			return false
		}
	}
}

func (k *Keeper) loaded() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isLoaded = true
	k.config.Log.V(1).Info("checkpoints of autoscalers are read", "waiting", len(k.kept), "taken", len(k.entries))
}

// keep stores a checkpoint until its autoscaler takes it.
func (k *Keeper) keep(c *plimsollv1alpha1.AutoscalerCheckpoint) {
	if c.DeletionTimestamp != nil {
		return
	}
	key, result := check(c)
	if result == "" {
		result = k.add(key, c)
	}
	if result != "" {
		k.series.read(result)
		k.problems.note("reading: "+result, nil, "a checkpoint of an autoscaler is not used",
			"checkpoint", c.Namespace+"/"+c.Name, "why", result, "err", c.Unreadable)
	}
}

// Damaged records that a checkpoint that was taken cannot be decoded.
func (k *Keeper) Damaged(key observe.Key, err error) {
	k.series.read(resultUnreadable)
	k.problems.note("reading: "+resultUnreadable, err, "a checkpoint of an autoscaler cannot be decoded, and is not used",
		"object", key.String())
}

// check returns the autoscaler of a checkpoint, or why the checkpoint is not used. The API server has validated it only
// if the cluster has the CustomResourceDefinition that ships.
func check(c *plimsollv1alpha1.AutoscalerCheckpoint) (key observe.Key, problem string) {
	if c.Unreadable != "" {
		return key, resultUnreadable
	}
	of := &c.Spec.Autoscaler
	switch of.Kind {
	case observe.HorizontalPodAutoscaler.String():
		key = observe.HPA(c.Namespace, of.Name)
	case observe.WorkloadAutoscaler.String():
		key = observe.WLA(c.Namespace, of.Name)
	default:
		return key, resultUnreadable
	}
	// The name is a function of the autoscaler, so that each has only one checkpoint.
	if kubecheckpoints.NameOf(key).Name != c.Name {
		return key, resultMisnamed
	}
	switch history, forecast := len(c.Spec.History), len(c.Spec.Forecast); {
	case history > plimsollv1alpha1.MaxHistoryBytes, forecast > plimsollv1alpha1.MaxForecastBytes:
		return key, resultOversized
	case history == 0 && forecast == 0:
		return key, resultEmpty
	}
	return key, ""
}

// add stores a checkpoint, or returns why it does not.
func (k *Keeper) add(key observe.Key, c *plimsollv1alpha1.AutoscalerCheckpoint) (problem string) {
	uid := c.Spec.Autoscaler.UID
	isKnown := k.config.IsKnown(key, uid)
	now := time.Now()
	one := kept{uid: uid, version: c.ResourceVersion, saved: Saved{
		Data: Data{History: c.Spec.History, Forecast: c.Spec.Forecast}, SavedAt: c.Spec.LastUpdateTime.Time,
	}}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, isListedAgain := k.kept[key]; isListedAgain || k.entries[key] != nil {
		return ""
	}
	if !isKnown {
		size := len(one.saved.History) + len(one.saved.Forecast) + len(key.Namespace) + len(key.Name)
		if k.unknownBytes+size > maxUnknownBytes {
			return resultTooMany
		}
		k.unknownBytes += size
		one.unknown = size
	}
	if one.saved.SavedAt.After(now.Add(maxAhead)) {
		one.saved.SavedAt = now
		k.series.read(resultFuture)
	}
	k.kept[key] = one
	return ""
}

// dropKept drops the checkpoints that no autoscaler took.
func (k *Keeper) dropKept() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.kept)
	k.unknownBytes = 0
}

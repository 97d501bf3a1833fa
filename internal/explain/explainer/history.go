package explainer

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// History returns the recorded load of an existing object: from the leader, or from its AutoscalerCheckpoint. A leader
// that has not read the checkpoint has only the load since its start; the rest comes from the checkpoint.
func (r *ClusterReader) History(
	ctx context.Context, object observe.Key,
) (*loadhistory.History, loadreport.Source, error) {
	autoscaler, err := r.Autoscaler(ctx, object)
	if err != nil {
		return nil, loadreport.Source{}, err
	}
	return r.historyOf(ctx, object, autoscaler.UID)
}

func (r *ClusterReader) historyOf(
	ctx context.Context, object observe.Key, uid types.UID,
) (*loadhistory.History, loadreport.Source, error) {
	h, isWhole, noLeader := r.leaderHistory(ctx, object)
	if noLeader == nil && isWhole {
		return h, loadreport.Source{}, nil
	}
	saved, savedAt, err := r.savedHistory(ctx, object, uid)
	if noLeader == nil && errors.Is(err, errNoCheckpoint) {
		return h, loadreport.Source{}, nil // a new object: it has no history from before the leader's start
	}
	if noLeader == nil {
		source := loadreport.Source{IsSinceStart: true, SavedAt: savedAt}
		if err != nil {
			source.NoCheckpoint = err.Error()
		} else {
			h.Merge(saved)
		}
		return h, source, nil
	}
	if err != nil {
		return nil, loadreport.Source{}, fmt.Errorf("no history of %s %s: %w; and %w", object.Kind, object.NamespacedName,
			noLeader, err)
	}
	return saved, loadreport.Source{SavedAt: savedAt, NoLeader: noLeader.Error()}, nil
}

func (r *ClusterReader) leaderHistory(
	ctx context.Context, object observe.Key,
) (h *loadhistory.History, isWhole bool, err error) {
	encoded, isWhole, err := r.finder.History(ctx, object)
	if err != nil {
		return nil, false, err
	}
	h = &loadhistory.History{}
	if err := h.UnmarshalBinary(encoded); err != nil {
		return nil, false, fmt.Errorf("the controller's answer: %w", err)
	}
	return h, isWhole, nil
}

var errNoCheckpoint = errors.New("there is no AutoscalerCheckpoint of it")

// savedHistory returns that of the checkpoint. It ignores a checkpoint of an earlier object of the same name.
func (r *ClusterReader) savedHistory(
	ctx context.Context, object observe.Key, uid types.UID,
) (h *loadhistory.History, savedAt time.Time, err error) {
	name := checkpoints.NameOf(object)
	checkpoint, err := r.checkpoints.Get(ctx, name)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil, savedAt, errNoCheckpoint
		}
		return nil, savedAt, apierror.Request{
			Verb: "get", Resource: plimsollv1alpha1.Resource(plimsollv1alpha1.AutoscalerCheckpoints).String(),
			Namespace: name.Namespace, Name: name.Name,
		}.Sentence(err)
	}
	switch of := checkpoint.Spec.Autoscaler; {
	case checkpoint.Unreadable != "":
		return nil, savedAt, fmt.Errorf("AutoscalerCheckpoint %s cannot be read: %s", name.Name, checkpoint.Unreadable)
	case of.UID != uid || of.Kind != object.Kind.String() || of.Name != object.Name:
		return nil, savedAt, fmt.Errorf("AutoscalerCheckpoint %s is of another object: %q %q with UID %q", name.Name,
			of.Kind, of.Name, of.UID)
	}
	h = &loadhistory.History{}
	if err := h.UnmarshalBinary(checkpoint.Spec.History); err != nil {
		return nil, savedAt, fmt.Errorf("AutoscalerCheckpoint %s cannot be read: %w", name.Name, err)
	}
	// A checkpoint without a time is at most as old as its object.
	if savedAt = checkpoint.Spec.LastUpdateTime.Time; savedAt.IsZero() {
		savedAt = checkpoint.CreationTimestamp.Time
	}
	return h, savedAt, nil
}

// Report returns the recorded load of the last part of an object's time.
func (r *ClusterReader) Report(
	ctx context.Context, object observe.Key, last time.Duration, now time.Time,
) (*loadreport.Report, error) {
	return r.ReportBetween(ctx, object, now.Add(-last), now, now)
}

// ReportBetween returns the recorded load of an object from one moment to another, which may be before now.
func (r *ClusterReader) ReportBetween(
	ctx context.Context, object observe.Key, from, to, now time.Time,
) (*loadreport.Report, error) {
	autoscaler, err := r.Autoscaler(ctx, object)
	if err != nil {
		return nil, err
	}
	h, source, err := r.historyOf(ctx, object, autoscaler.UID)
	if err != nil {
		return nil, err
	}
	report, err := loadreport.New(object, h, source, from, to)
	switch {
	case err != nil && to.Before(now):
		return nil, fmt.Errorf("nothing is recorded of %s %s from %s to %s (%s)", object.Kind, object.NamespacedName,
			from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), source.Text(now))
	case err != nil:
		return nil, err
	}
	if source.NoLeader == "" && autoscaler.NumMetrics() > 1 {
		// A controller without this has the load of all metrics together.
		if metrics, err := r.finder.MetricHistories(ctx, object); err == nil {
			err = report.AddMetrics(metrics)
			return report, err
		}
	}
	return report, nil
}

package updater

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podchange"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// do calls the API server with the pod's UID, so that it does not change a newer pod of the same name.
func do(ctx context.Context, client kubernetes.Interface, log logr.Logger, a update.Action) (update.Outcome, error) {
	if a.Kind == update.Evict {
		return evictPod(ctx, client, a)
	}
	return resizePod(ctx, client, log, a)
}

func evictPod(ctx context.Context, client kubernetes.Interface, a update.Action) (update.Outcome, error) {
	err := podchange.Evict(ctx, client, a.Pod.Namespace, a.Pod.Name, types.UID(a.Pod.UID))
	switch {
	case err == nil:
		return update.Done, nil
	case errors.Is(err, podchange.ErrDisallowed):
		return update.Disallowed, err
	case errors.Is(err, podchange.ErrGone):
		return update.Gone, err
	}
	return update.Failed, err
}

// resizePod resizes the pod, then annotates it with the time of the resize, and removes the annotation of its start-up
// boost. For the end of a boost an empty resize succeeds, because removing the annotation is enough.
func resizePod(
	ctx context.Context, client kubernetes.Interface, log logr.Logger, a update.Action,
) (update.Outcome, error) {
	pod := podchange.Pod{Namespace: a.Pod.Namespace, Name: a.Pod.Name, UID: types.UID(a.Pod.UID)}
	err := podchange.Resize(ctx, client, pod, containersFor(a))
	if errors.Is(err, podchange.ErrEmpty) && len(a.Unboosted) > 0 {
		err = nil
	}
	switch {
	case err == nil:
	case errors.Is(err, podchange.ErrInfeasible):
		return update.Infeasible, err
	case errors.Is(err, podchange.ErrRefused):
		return update.Refused, err
	case errors.Is(err, podchange.ErrGone):
		return update.Gone, err
	default:
		return update.Failed, err
	}
	annotations := map[string]*string{
		observevertical.AnnotationInPlaceUpdated: ptr.To("true"),
		observevertical.AnnotationResizedAt:      ptr.To(time.Now().UTC().Format(time.RFC3339)),
	}
	for _, container := range a.Unboosted {
		annotations[observevertical.AnnotationBoostPrefix+container] = nil
	}
	if err := podchange.Annotate(ctx, client, pod, annotations); err != nil {
		// The resize has succeeded; upstream continues too.
		log.Info("pod resized, but annotating it failed", "pod", a.Pod.Name, "err", err.Error())
	}
	return update.Done, nil
}

func containersFor(a update.Action) []podchange.Container {
	var containers []podchange.Container
	for _, target := range a.Targets {
		resources := podchange.ResourceRequirements{
			Requests: observevertical.ListOf(target.Requests), Limits: observevertical.ListOf(target.Limits),
		}
		if !resources.IsEmpty() {
			containers = append(containers, podchange.Container{Name: target.Container, Resources: resources})
		}
	}
	return containers
}

package checkpoints

import (
	"context"
	"errors"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	kubecheckpoints "github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// attempt says how a write treats a checkpoint that another writer has changed.
type attempt uint8

const (
	// isRepeated replaces it.
	isRepeated attempt = iota
	// isLast keeps it: at the end of the process it may be the next leader's.
	isLast
)

// write encodes an autoscaler and stores its checkpoint. It returns no error if there is nothing to save.
func (k *Keeper) write(ctx context.Context, e *entry, attempt attempt) error {
	data, err := k.config.Encode(e.key, e.uid)
	if errors.Is(err, ErrBusy) {
		return err
	}
	if err == nil {
		k.cut(e.key, &data)
		if data.isEmpty() {
			return nil
		}
		var version string
		if version, err = k.store(ctx, objectOf(e, &data), e.version, attempt); err == nil {
			e.version, e.saved = version, time.Now()
		}
	}
	k.count(ctx, e.key, err)
	return err
}

// count counts a write, unless the end of the process interrupted it.
func (k *Keeper) count(ctx context.Context, key observe.Key, err error) {
	switch {
	case err == nil:
		k.series.written(resultSuccess)
		return
	case ctx.Err() != nil, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return
	case isRefusal(err):
		k.series.written(resultRefused)
	default:
		k.series.written(resultFailure)
	}
	k.problems.note("writing: "+reasonOf(err), err, "the checkpoint of an autoscaler is not written",
		"object", key.String())
}

// cut removes a part that is larger than a checkpoint may hold. The write removes its older form from the stored
// checkpoint too.
func (k *Keeper) cut(key observe.Key, data *Data) {
	for _, part := range []struct {
		name  string
		bytes *[]byte
		most  int
	}{
		{"history", &data.History, plimsollv1alpha1.MaxHistoryBytes},
		{"forecast", &data.Forecast, plimsollv1alpha1.MaxForecastBytes},
	} {
		if len(*part.bytes) > part.most {
			k.series.written(resultOversized)
			k.problems.note("writing: oversized "+part.name, nil, "a part of a checkpoint is too large and is not written",
				"object", key.String(), "part", part.name, "bytes", len(*part.bytes))
			*part.bytes = nil
		}
	}
}

func objectOf(e *entry, data *Data) *plimsollv1alpha1.AutoscalerCheckpoint {
	name := kubecheckpoints.NameOf(e.key)
	owner := metav1.OwnerReference{
		APIVersion: autoscalingv2.SchemeGroupVersion.String(), Kind: e.key.Kind.String(), Name: e.key.Name, UID: e.uid,
	}
	if e.key.Kind == observe.WorkloadAutoscaler {
		owner.APIVersion = plimsollv1alpha1.SchemeGroupVersion.String()
	}
	return &plimsollv1alpha1.AutoscalerCheckpoint{
		TypeMeta: metav1.TypeMeta{
			APIVersion: plimsollv1alpha1.SchemeGroupVersion.String(), Kind: plimsollv1alpha1.CheckpointKind,
		},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: plimsollv1alpha1.AutoscalerCheckpointSpec{
			Autoscaler: plimsollv1alpha1.CheckpointedAutoscaler{
				Kind: owner.Kind, Name: owner.Name, UID: owner.UID,
			},
			LastUpdateTime: metav1.Now(), History: data.History, Forecast: data.Forecast,
		},
	}
}

// store writes a checkpoint in place of the one with this version, and returns the new version. It replaces the whole
// object: a forecast that is older than its history would be wrong.
func (k *Keeper) store(
	ctx context.Context, object *plimsollv1alpha1.AutoscalerCheckpoint, version string, attempt attempt,
) (string, error) {
	client := k.config.Client
	if version != "" {
		object.ResourceVersion = version
		stored, err := client.Replace(ctx, object)
		if attempt == isLast || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return stored, err
		}
	}
	object.ResourceVersion = ""
	stored, err := client.Create(ctx, object)
	if attempt == isLast || !apierrors.IsAlreadyExists(err) {
		return stored, err
	}
	name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	found, err := client.Get(ctx, name)
	if err != nil {
		return "", err
	}
	if found.Spec.Autoscaler.UID == object.Spec.Autoscaler.UID {
		object.ResourceVersion = found.ResourceVersion
		return client.Replace(ctx, object)
	}
	// The stored one belongs to a deleted autoscaler, and the garbage collector is about to delete it.
	if err := client.Delete(ctx, name, found.UID); err != nil {
		return "", err
	}
	return client.Create(ctx, object)
}

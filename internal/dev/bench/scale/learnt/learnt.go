// Package learnt saves AutoscalerCheckpoints of objects with a history of weeks.
package learnt

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// days are more than histories keep and forecasts need.
const days = 17

// encoded returns a leader's checkpoint of an object after weeks with a noisy load that depends on the hour of the day.
func encoded(now time.Time) (history, forecasts []byte, err error) {
	const pods, noise, nightPart = 100, 0.2, 0.5
	random := rand.New(rand.NewPCG(1, 2))
	var h loadhistory.History
	state := forecast.New()
	settings := forecast.Settings{
		Mode: forecast.Preview, WasteLimitPercent: forecast.DefaultWasteLimitPercent, Price: forecast.DefaultPrice,
	}
	perPod := float64(population.RequestCPUMilli * population.TargetUtilizationPercent / 100)
	every := 15 * time.Second
	for at := now.AddDate(0, 0, -days); at.Before(now); at = at.Add(every) {
		if now.Sub(at) <= 2*time.Hour {
			every = time.Second
		}
		load := max(0, pods*(1+noise*random.NormFloat64()))
		if hour := at.UTC().Hour(); hour < 8 || hour >= 18 {
			load *= nightPart
		}
		state.Observe(&settings, &forecast.Input{
			Now: at, Load: forecast.Load{Pods: load, PerPodMilli: perPod, Full: 2, IsKnown: true}, MinReplicas: 1,
			MaxReplicas: 4 * pods, StartUp: time.Minute, Tolerance: 0.1,
		})
		count := int32(math.Ceil(load))
		h.Add(at, loadhistory.Point{Load: load, PerPodMilli: float32(perPod), Wanted: count, Ready: count})
	}
	if history, err = h.AppendBinary(nil); err != nil {
		return nil, nil, fmt.Errorf("encode a history: %w", err)
	}
	if forecasts, err = state.AppendBinary(nil); err != nil {
		return nil, nil, fmt.Errorf("encode a forecast: %w", err)
	}
	return history, forecasts, nil
}

// Save gives each HPA a checkpoint with a full history and a learnt forecast.
func Save(ctx context.Context, config *rest.Config, to population.Config) error {
	history, forecasts, err := encoded(time.Now())
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := checkpoints.New(config)
	if err != nil {
		return err
	}
	return eachNamespace(ctx, to.Size, func(ctx context.Context, namespace string) error {
		hpas, err := to.Client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list HPAs: %w", err)
		}
		for i := range hpas.Items {
			if _, err := client.Create(ctx, checkpointOf(&hpas.Items[i], history, forecasts)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Forget deletes all checkpoints.
func Forget(ctx context.Context, of population.Config) error {
	resource := plimsollv1alpha1.SchemeGroupVersion.WithResource(plimsollv1alpha1.AutoscalerCheckpoints)
	return eachNamespace(ctx, of.Size, func(ctx context.Context, namespace string) error {
		err := of.Dynamic.Resource(resource).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("delete checkpoints: %w", err)
		}
		return nil
	})
}

func eachNamespace(
	ctx context.Context, size population.Size, do func(ctx context.Context, namespace string) error,
) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(population.DefaultConcurrency)
	for n := range size.Namespaces() {
		all.Go(func() error { return do(ctx, population.NamespaceName(n)) })
	}
	return all.Wait()
}

func checkpointOf(
	hpa *autoscalingv2.HorizontalPodAutoscaler, history, forecasts []byte,
) *plimsollv1alpha1.AutoscalerCheckpoint {
	key := observe.HPA(hpa.Namespace, hpa.Name)
	name := checkpoints.NameOf(key)
	c := &plimsollv1alpha1.AutoscalerCheckpoint{
		TypeMeta: metav1.TypeMeta{
			APIVersion: plimsollv1alpha1.SchemeGroupVersion.String(), Kind: plimsollv1alpha1.CheckpointKind,
		},
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Spec: plimsollv1alpha1.AutoscalerCheckpointSpec{
			LastUpdateTime: metav1.Now(), History: history, Forecast: forecasts,
		},
	}
	of := &c.Spec.Autoscaler
	of.Kind, of.Name, of.UID = key.Kind.String(), hpa.Name, hpa.UID
	return c
}

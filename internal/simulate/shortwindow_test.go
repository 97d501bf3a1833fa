package simulate

import (
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// TestShortWindows: with a short stabilization window for scaling down, or with none, the count never falls further below
// what the load needs than upstream's does in the same play. It would if a ratio that was measured with more pods were
// multiplied by a count that has fallen since.
func TestShortWindows(t *testing.T) {
	for _, shape := range []string{
		"step:40@0s,30@5m", "step:100@0s,75@5m", "ramp:40@3m,20@8m", "sine:mean=30,amplitude=8,period=5m",
		"step:46@0s",
	} {
		for _, window := range []int32{0, 10, 20, 60} {
			for _, every := range []time.Duration{10 * time.Second, time.Second} {
				t.Run(fmt.Sprintf("%s/%ds/%s", shape, window, every), func(t *testing.T) {
					t.Parallel()
					const seeds = 3
					upstream, plimsoll := 0, 0
					for seed := range uint64(seeds) {
						scene, hpa := withWindow(t, shape, window)
						scene.Seed, scene.Timing.Housekeeping = seed+1, every
						upstream += undershoot(t, scene, Setting{Name: "upstream", Side: Upstream, HPA: hpa})
						plimsoll += undershoot(t, scene, Setting{Name: "plimsoll", Side: Plimsoll, HPA: hpa})
					}
					if plimsoll > upstream+seeds {
						t.Errorf("%d pods too few in %d plays, upstream %d", plimsoll, seeds, upstream)
					}
				})
			}
		}
	}
}

// withWindow is a load of pods at full use, 60 % of which is the target, and an HPA that lowers after a window.
func withWindow(t *testing.T, shape string, window int32) (*Scene, *autoscalingv2.HorizontalPodAutoscaler) {
	t.Helper()
	hpa := autoscaler(60, 1, 150)
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window},
	}
	scene := sceneOf(t, shape)
	scene.Target, scene.MinReplicas = 0.6, 1
	if shape == "step:46@0s" {
		scene.Burstiness = 10
	}
	scene.For, scene.PodCapacity = 12*time.Minute, 1/0.6
	return scene, hpa
}

// undershoot is by how many pods the count was too low at most.
func undershoot(t *testing.T, scene *Scene, setting Setting) (most int) {
	t.Helper()
	_, err := Play(t.Context(), scene, setting, Watch{Moment: func(m *Moment) {
		most = max(most, m.Need-m.Wanted)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return most
}

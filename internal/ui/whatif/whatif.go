// Package whatif simulates the recorded load of an autoscaler: against the present autoscaler, and against one with
// other settings. The simulator runs Plimsoll's loop for both; it writes nothing.
package whatif

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/recorded"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	// shortestLast is the shortest time worth a simulation.
	shortestLast = time.Minute
	defaultLast  = 24 * time.Hour
	// nothingChanged is the error for a form without changes.
	nothingChanged = "Nothing was changed: every field is empty or has the present value. Fill in another value, " +
		"such as a lower target."
)

// Play simulates the request. An InvalidError is about the request.
func Play(
	ctx context.Context, reader *explainer.ClusterReader, asked *view.WhatIfRequest, clusterFlags []string, now time.Time,
) (*view.WhatIf, error) {
	key := observe.Key{NamespacedName: types.NamespacedName{Namespace: asked.Namespace, Name: asked.Name}}
	switch asked.Kind {
	case view.HPA:
		key.Kind = observe.HorizontalPodAutoscaler
	case view.WLA:
		key.Kind = observe.WorkloadAutoscaler
	default:
		return nil, invalid("kind: %q, want %s or %s", asked.Kind, view.HPA, view.WLA)
	}
	if isNothing(&asked.Changes) {
		return nil, invalid(nothingChanged)
	}
	last := defaultLast
	if asked.LastSeconds != 0 {
		if asked.LastSeconds < int64(shortestLast.Seconds()) ||
			asked.LastSeconds > int64(loadhistory.LongestTimeline.Seconds()) {
			return nil, invalid("lastSeconds: %d, want %v to %v", asked.LastSeconds, shortestLast.Seconds(),
				loadhistory.LongestTimeline.Seconds())
		}
		last = time.Duration(asked.LastSeconds) * time.Second
	}
	object, err := recorded.Read(ctx, reader, key, last, now)
	if err != nil {
		return nil, err
	}
	played, err := play(ctx, object, asked)
	if err != nil {
		return nil, err
	}
	played.Command = output.CommandToCluster(played.Command, clusterFlags)
	return played, nil
}

func play(ctx context.Context, object *recorded.Object, asked *view.WhatIfRequest) (*view.WhatIf, error) {
	changes, err := changesOf(object.Autoscaler, &asked.Changes)
	if err != nil {
		return nil, err
	}
	settings, err := settingsOf(object, changes)
	if err != nil {
		return nil, err
	}
	if isSame(&settings[0], &settings[1]) {
		return nil, invalid(nothingChanged)
	}
	scene, err := sceneOf(object, settings)
	if err != nil {
		return nil, err
	}
	flags := flagsNote(object)
	if err := simulate.Refusal(scene, settings); err != nil {
		return nil, invalid("%s; %s", oneLine(err), flags)
	}
	runs, err := simulate.PlayAll(ctx, scene, settings, nil)
	if err != nil {
		return nil, err
	}
	patch, command, err := patchOf(asked.Kind, asked.Namespace, asked.Name, changes)
	if err != nil {
		return nil, err
	}
	result := &view.WhatIf{
		From: scene.Start.UnixMilli(), StepMillis: runs[0].Series.Step.Milliseconds(),
		AsIs: playedOf(runs[0]), Changed: playedOf(runs[1]), Patch: patch, Command: command,
		Notes: slices.Concat(object.Notes, simulate.ModeNotes(settings), assumptions(scene), []string{flags}),
	}
	if err := simulate.Verdict(scene, settings); err != nil {
		result.Warning = oneLine(err)
	} else {
		result.Warning = simulate.Note(scene, runs)
	}
	for i := range runs[0].Series.Points {
		result.Load = append(result.Load, runs[0].Series.Points[i].Load)
	}
	return result, nil
}

// assumptions returns the other assumptions of the result.
func assumptions(scene *simulate.Scene) []string {
	pod := &scene.Workload
	return slices.Concat([]string{scene.Assumed}, scene.MetricMeanings, []string{
		fmt.Sprintf("a pod is ready %v after it has a place on a node", pod.StartAfter+pod.ReadyAfter),
		"Plimsoll's loop decides in both",
	})
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// flagsNote returns where to set the flags that the simulator's texts name.
func flagsNote(object *recorded.Object) string {
	return fmt.Sprintf("flags such as --pod-capacity are those of plimsoll simulate --from %s/%s -n %s",
		strings.ToLower(object.Key.Kind.String()), object.Key.Name, object.Key.Namespace)
}

func isSame(a, b *simulate.Setting) bool {
	return equality.Semantic.DeepEqual(a.HPA, b.HPA) && equality.Semantic.DeepEqual(a.Workload, b.Workload)
}

// settingsOf returns the present object and the changed one.
func settingsOf(object *recorded.Object, changes []change) ([]simulate.Setting, error) {
	asIs := &object.Manifests[0]
	changed := asIs
	for i := range changes {
		assignment, err := changes[i].assignment()
		if err != nil {
			return nil, err
		}
		if changed, err = changed.With(assignment); err != nil {
			return nil, invalid("%v", err)
		}
	}
	var settings []simulate.Setting
	for _, one := range []struct {
		name   string
		object *manifest.Object
	}{{"as it is", asIs}, {"changed", changed}} {
		autoscaler, err := one.object.Autoscaler()
		if err != nil {
			return nil, invalid("%s: %v", one.name, err)
		}
		settings = append(settings, simulate.Setting{
			Name: one.name, Side: simulate.Plimsoll, HPA: autoscaler.HPA, Workload: autoscaler.Workload,
		})
	}
	return settings, nil
}

// sceneOf returns the scene for both simulations: the pods are those of the object's target.
func sceneOf(object *recorded.Object, settings []simulate.Setting) (*simulate.Scene, error) {
	pods := simulate.DefaultWorkload()
	if target := manifest.Target(object.Manifests, settings[0].Autoscaler().Target()); target != nil {
		if err := target.Fill(&pods); err != nil {
			return nil, fmt.Errorf("the target: %w", err)
		}
		pods.ServeIn(simulate.ServingContainer(object.Autoscaler))
	} else {
		object.Request(&pods)
	}
	pods.Complete()
	scene, err := simulate.NewScene(object.Load, pods, settings[0].Autoscaler())
	if err != nil {
		return nil, err
	}
	err = scene.Assume(object.Autoscaler, simulate.Known{IsInPods: true})
	return scene, err
}

func playedOf(run *simulate.Run) view.Played {
	p := view.Played{
		PodHours: run.Score.PodHours, ShortPercent: run.Score.ShortPercent,
		LongestShortSeconds: run.Score.LongestShortSeconds, Actions: run.Score.Actions,
		AboveTargetPercent: run.Score.AboveTargetPercent, AboveAtMaxPercent: run.Score.AboveAtMaxPercent,
	}
	for i := range run.Series.Points {
		point := &run.Series.Points[i]
		p.Desired, p.Ready = append(p.Desired, int32(point.Wanted)), append(p.Ready, int32(point.Ready))
	}
	return p
}

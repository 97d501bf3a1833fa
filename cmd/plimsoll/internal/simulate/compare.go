package simulate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
)

// mostSettings is the largest number of settings that one command compares.
const mostSettings = 16

// compared returns the settings to play, and the autoscaler before --set changes it; the first one of several.
type compared struct {
	settings   []simulate.Setting
	unmodified observehorizontal.Autoscaler
	// objects are all that the files hold.
	objects []manifest.Object
}

// compare has each file, with each combination of fields, under each loop.
func (f *simulateFlags) compare() (*compared, error) {
	if len(f.hpas) == 0 && f.recorded == nil {
		return nil, cmderror.Usagef(
			"--hpa: name a file with a HorizontalPodAutoscaler or WorkloadAutoscaler, or use --from")
	}
	combinations, err := f.combinations()
	if err != nil {
		return nil, err
	}
	sides, err := simulate.ParseSides(f.sides)
	if err != nil {
		return nil, cmderror.Usagef("--as: %w", err)
	}
	c := &compared{}
	var files []named
	if c.objects, files, err = f.read(); err != nil {
		return nil, err
	}
	for i := range files {
		if err := c.add(&files[i], combinations, sides); err != nil {
			return nil, err
		}
	}
	if c.unmodified, err = files[0].object.Autoscaler(); err != nil {
		// --set may have mended it.
		c.unmodified = c.settings[0].Autoscaler()
	}
	if c.settings, err = f.withForecasts(c.settings); err != nil {
		return nil, err
	}
	if len(c.settings) > mostSettings {
		return nil, cmderror.Usagef("these are %d settings, at most %d are compared", len(c.settings), mostSettings)
	}
	return c, nil
}

// named is an object and what sets it apart from the others; empty if there are none.
type named struct {
	object *manifest.Object
	name   string
}

// read reads all files, and says which of their objects are autoscalers.
func (f *simulateFlags) read() (all []manifest.Object, hpas []named, err error) {
	if f.recorded != nil {
		all = append(all, f.recorded.Manifests...)
		hpas = append(hpas, named{object: &f.recorded.Manifests[0], name: f.recorded.Key.Name})
	}
	for _, file := range f.hpas {
		objects, err := manifest.ReadFile(file)
		if err != nil {
			return nil, nil, fmt.Errorf("--hpa: %w", err)
		}
		all = append(all, objects...)
		before := len(hpas)
		for i := range objects {
			if objects[i].IsAutoscaler() {
				hpas = append(hpas, named{object: &objects[i], name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))})
			}
		}
		if len(hpas) == before {
			return nil, nil, fmt.Errorf("--hpa: %s: there is no %s and no %s in it", file, manifest.HPAKind,
				plimsollv1alpha1.Kind)
		}
		for i := before; i < len(hpas) && len(hpas) > before+1; i++ {
			hpas[i].name = hpas[i].object.Name
		}
	}
	if len(hpas) == 1 {
		hpas[0].name = ""
	}
	return all, hpas, nil
}

// add adds an object with each combination of fields under each side. Upstream's loop is left out where it cannot
// decide the object, unless it alone is asked for.
func (c *compared) add(n *named, combinations [][]manifest.Assignment, sides []simulate.Side) error {
	for _, combination := range combinations {
		changed, err := setAll(n.object, combination)
		if err != nil {
			return err
		}
		a, err := changed.Autoscaler()
		if err != nil {
			return err
		}
		own := sides
		if a.IsWorkload() && len(sides) > 1 {
			own = []simulate.Side{simulate.Plimsoll}
		}
		for _, side := range own {
			setting := simulate.Setting{Side: side, HPA: a.HPA, Workload: a.Workload}
			if err := checkUsed(n.object, combination, &setting); err != nil {
				return err
			}
			setting.Name = nameOf(n.name, combination, len(combinations) > 1, side, len(own) > 1)
			c.settings = append(c.settings, setting)
		}
	}
	return nil
}

func setAll(object *manifest.Object, combination []manifest.Assignment) (changed *manifest.Object, err error) {
	changed = object
	for _, a := range combination {
		if changed, err = changed.With(a); err != nil {
			return nil, cmderror.Usagef("--set: %w", err)
		}
	}
	return changed, nil
}

// checkUsed reports a field that is set to another value, and makes no difference to what is played.
func checkUsed(object *manifest.Object, combination []manifest.Assignment, setting *simulate.Setting) error {
	for i, a := range combination {
		without, err := setAll(object, slices.Delete(slices.Clone(combination), i, i+1))
		if err != nil {
			return err
		}
		before, err := without.Autoscaler()
		if err != nil {
			continue // the field is needed
		}
		other := simulate.Setting{Side: setting.Side, HPA: before.HPA, Workload: before.Workload}
		isOther := !equality.Semantic.DeepEqual(before.HPA, setting.HPA) ||
			!equality.Semantic.DeepEqual(before.Workload, setting.Workload)
		if isOther && simulate.AsksForTheSame(&other, setting) {
			return fmt.Errorf("--set: %s: the simulation does not use this field: leave it out", a.Path)
		}
	}
	return nil
}

// nameOf is the label of a setting: only what differs.
func nameOf(name string, combination []manifest.Assignment, isSet bool, side simulate.Side, isOneOf bool) string {
	var parts []string
	if name != "" {
		parts = append(parts, name)
	}
	for i := 0; isSet && i < len(combination); i++ {
		parts = append(parts, shortName(combination, i))
	}
	if isOneOf || len(parts) == 0 {
		parts = append(parts, string(side))
	}
	return strings.Join(parts, " ")
}

// shortName is the last part of an assignment's path with its value, or all of it where another one ends the same.
func shortName(combination []manifest.Assignment, i int) string {
	last := func(a manifest.Assignment) string { return a.Path[strings.LastIndex(a.Path, ".")+1:] }
	for k := range combination {
		if k != i && last(combination[k]) == last(combination[i]) {
			return combination[i].String()
		}
	}
	return last(combination[i]) + "=" + combination[i].Value
}

// combinations are all ways to choose one of the values of each field.
func (f *simulateFlags) combinations() ([][]manifest.Assignment, error) {
	var paths []string
	values := map[string][]manifest.Assignment{}
	for _, text := range f.sets {
		a, err := manifest.ParseAssignment(text)
		if err != nil {
			return nil, cmderror.Usagef("--set: %w", err)
		}
		if values[a.Path] == nil {
			paths = append(paths, a.Path)
		}
		values[a.Path] = append(values[a.Path], a)
	}
	combinations := [][]manifest.Assignment{nil}
	for _, path := range paths {
		var longer [][]manifest.Assignment
		for _, c := range combinations {
			for _, a := range values[path] {
				longer = append(longer, append(c[:len(c):len(c)], a))
			}
		}
		if combinations = longer; len(combinations) > mostSettings {
			return nil, cmderror.Usagef("--set: these are %d combinations, at most %d are compared", len(combinations),
				mostSettings)
		}
	}
	return combinations, nil
}

package validation_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

func parse(t *testing.T, spec string) *vpav1.VerticalPodAutoscaler {
	t.Helper()
	vpa := &vpav1.VerticalPodAutoscaler{}
	if err := yaml.UnmarshalStrict([]byte(spec), &vpa.Spec); err != nil {
		t.Fatal(err)
	}
	return vpa
}

// TestValidate: the errors of an object, and whether an object that has the same already may keep it. test/oracle
// compares every message with upstream's.
func TestValidate(t *testing.T) {
	everything := validation.Features{CPUStartupBoost: true, PerVPAConfig: true, InPlace: true}
	for why, c := range map[string]struct {
		spec     string
		features validation.Features
		errs     []string
		warnings []string
		// keeps is true if an update of the same object is accepted.
		keeps bool
	}{
		"an empty one": {spec: "{}", keeps: true},
		"a policy without mode": {spec: "updatePolicy: {minReplicas: 0}",
			errs: []string{"spec.updatePolicy.updateMode: Required", "minReplicas has to be positive"}},
		"an unknown mode": {spec: "updatePolicy: {updateMode: Sometimes}",
			errs: []string{`supported values: "InPlace", "InPlaceOrRecreate", "Initial"`}},
		"Auto": {spec: "updatePolicy: {updateMode: Auto}", warnings: []string{`spec.updatePolicy: "Auto" mode is deprecated`},
			keeps: true},
		"in place, not switched on": {
			spec: "updatePolicy: {updateMode: InPlace}", errs: []string{"you must enable feature gate InPlace"}, keeps: true,
		},
		"in place, switched on": {spec: "updatePolicy: {updateMode: InPlace}", features: everything, keeps: true},
		"overrides, not switched on": {
			spec: "{updatePolicy: {updateMode: 'Off', evictAfterOOMSeconds: 3}, resourcePolicy: {containerPolicies: " +
				"[{containerName: a, oomMinBumpUp: 1}]}}",
			errs:  []string{"evictAfterOOMSeconds: Forbidden", "containerPolicies[0].oomMinBumpUp: Forbidden"},
			keeps: true,
		},
		"overrides that are absurd": {
			spec: "{updatePolicy: {updateMode: 'Off', evictAfterOOMSeconds: 0}, resourcePolicy: {containerPolicies: " +
				"[{containerName: a, " +
				"oomBumpUpRatio: 900m, oomMinBumpUp: -1, memoryAggregationIntervalSeconds: 0, memoryAggregationIntervalCount: 0}]}}",
			features: everything,
			errs:     []string{"evictAfterOOMSeconds", "oomBumpUpRatio", "oomMinBumpUp", "IntervalSeconds", "IntervalCount"},
		},
		"overrides that do not fit into 64 bits": {
			spec: "{updatePolicy: {updateMode: 'Off'}, resourcePolicy: {containerPolicies: [" +
				"{containerName: a, oomBumpUpRatio: 1E, oomMinBumpUp: 10E}, {containerName: b, oomBumpUpRatio: -1E, " +
				"oomMinBumpUp: -10E}]}}",
			features: everything,
			errs:     []string{"containerPolicies[1].oomBumpUpRatio", "containerPolicies[1].oomMinBumpUp"},
		},
		"a minimum above the maximum": {
			spec: "resourcePolicy: {containerPolicies: [{containerName: a, minAllowed: {cpu: 2}, maxAllowed: {cpu: 1}}]}",
			errs: []string{
				`spec.resourcePolicy.containerPolicies[0].maxAllowed[cpu]: Invalid value: "1": max resource for cpu is lower than min of "2"`},
		},
		"parts of units": {
			spec: "resourcePolicy: {containerPolicies: [{minAllowed: {cpu: 100u}, maxAllowed: {memory: 1500m, storage: 1m}}]}",
			errs: []string{"containerName: Required", "whole number of milli CPUs", "whole number of bytes"},
		},
		"limits of a container that is off": {
			spec: "resourcePolicy: {containerPolicies: [{containerName: a, mode: 'Off', controlledValues: RequestsAndLimits}, " +
				"{containerName: b, mode: No}]}",
			errs: []string{"controlledValues shouldn't be specified", `supported values: "Auto", "Off"`},
		},
		"a resource that is not recommended": {
			spec:  "resourcePolicy: {containerPolicies: [{containerName: a, controlledResources: [cpu, storage]}]}",
			errs:  []string{`controlledResources[1]: Unsupported value: "storage"`},
			keeps: true,
		},
		"a boost, not switched on": {spec: "startupBoost: {cpu: {type: Factor, factor: 2}}",
			errs: []string{"feature gate CPUStartupBoost"}, keeps: true},
		"boosts that are absurd": {
			spec: "{startupBoost: {cpu: {type: Factor, factor: 0}}, resourcePolicy: {containerPolicies: [{containerName: a, " +
				"startupBoost: " +
				"{cpu: {type: Quantity, quantity: 1u}}}, {containerName: b, startupBoost: {cpu: {type: ''}}}]}}",
			features: everything,
			errs: []string{"whole number of milli CPUs", "must be either Factor or Quantity",
				"must be >= 1 for type Factor"},
		},
		"two recommenders": {spec: "recommenders: [{name: a}, {name: b}]", errs: []string{"must have at most 1 item"}},
	} {
		warnings, errs := validation.Validate(parse(t, c.spec), nil, c.features)
		var said []string
		for _, err := range errs {
			said = append(said, err.Error())
		}
		each(t, why, said, c.errs)
		each(t, why, warnings, c.warnings)
		if c.keeps {
			if _, errs := validation.Validate(parse(t, c.spec), parse(t, c.spec), validation.Features{}); len(errs) > 0 {
				t.Errorf("%s: an object that was like that cannot be updated: %v", why, errs)
			}
		}
	}
}

func TestAKnownValueIsKeptWithAWarning(t *testing.T) {
	const spec = "resourcePolicy: {containerPolicies: [{containerName: a, controlledResources: [storage]}]}"
	warnings, errs := validation.Validate(parse(t, spec), parse(t, spec), validation.Features{})
	each(t, "errors", nil, nil)
	each(t, "warnings", warnings, []string{"allowed only because it is present in the existing VPA object"})
	if len(errs) > 0 {
		t.Error(errs)
	}
}

// each expects one text in said for each of want, in its order, that contains it.
func each(t *testing.T, why string, said, want []string) {
	t.Helper()
	if len(said) != len(want) {
		t.Errorf("%s: %q, want %q", why, said, want)
		return
	}
	for i := range want {
		if !strings.Contains(said[i], want[i]) {
			t.Errorf("%s: %q, want %q", why, said[i], want[i])
		}
	}
}

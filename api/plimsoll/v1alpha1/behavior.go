package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Behavior limits how fast the replica count rises and falls. If it is set, so are both directions, with defaults for
// absent fields.
type Behavior struct {
	// How fast the replica count may rise. Without it the defaults of its fields apply.
	// +optional
	// +kubebuilder:default={}
	ScaleUp *ScaleUpRules `json:"scaleUp,omitempty"`

	// How fast the replica count may fall. Without it the defaults of its fields apply.
	// +optional
	// +kubebuilder:default={}
	ScaleDown *ScaleDownRules `json:"scaleDown,omitempty"`
}

// ScaleUpRules are the limits on a rise.
type ScaleUpRules struct {
	// How long a recommendation counts, in seconds, from 0 to 3600. The count rises to the smallest of those that count.
	// The default is 0: only the last one counts.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty"`

	// Which of the policies applies: Max, the default, is the one that permits the largest
	// change, Min the one that permits the smallest. Disabled permits no rise.
	// +optional
	// +kubebuilder:default=Max
	SelectPolicy *ScalingPolicySelect `json:"selectPolicy,omitempty"`

	// How much the count may rise within how many seconds. The default is within 15 seconds by 4 pods or to double the
	// count, whichever is more.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:default={{type: "Pods", value: 4, periodSeconds: 15}, {type: "Percent", value: 100, periodSeconds: 15}}
	Policies []ScalingPolicy `json:"policies,omitzero"`

	// How far above its target a metric may be without a rise, as a ratio: 0.1 is 10 %.
	// Without it the controller's flag --horizontal-pod-autoscaler-tolerance applies, by
	// default 0.1.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`int(self) >= 0 || size(self) > 0`,message="must be greater than or equal to 0"
	Tolerance *resource.Quantity `json:"tolerance,omitempty"`
}

// ScaleDownRules are the limits on a fall.
type ScaleDownRules struct {
	// How long a recommendation counts, in seconds, from 0 to 3600. The count falls to the
	// largest of those that count. Without it the controller's flag
	// --horizontal-pod-autoscaler-downscale-stabilization applies, by default 300. It does
	// not delay the maxReplicas of a schedule.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty"`

	// Which of the policies applies: Max, the default, is the one that permits the largest
	// change, Min the one that permits the smallest. Disabled permits no fall.
	// +optional
	// +kubebuilder:default=Max
	SelectPolicy *ScalingPolicySelect `json:"selectPolicy,omitempty"`

	// How much the count may fall within how many seconds. The default is by 100 % within 15
	// seconds: to minReplicas at once.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:default={{type: "Percent", value: 100, periodSeconds: 15}}
	Policies []ScalingPolicy `json:"policies,omitzero"`

	// How far below its target a metric may be without a fall, as a ratio: 0.1 is 10 %.
	// Without it the controller's flag --horizontal-pod-autoscaler-tolerance applies, by
	// default 0.1.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`int(self) >= 0 || size(self) > 0`,message="must be greater than or equal to 0"
	Tolerance *resource.Quantity `json:"tolerance,omitempty"`
}

// ScalingPolicy limits the change of the replica count within a period.
type ScalingPolicy struct {
	// The unit of value: Pods or Percent.
	Type ScalingPolicyType `json:"type"`

	// The maximum change, in pods, or in percent of the count at the beginning of the period: 1 or more.
	// +kubebuilder:validation:Minimum=1
	Value int32 `json:"value"`

	// The period, in seconds, from 1 to 1800.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1800
	PeriodSeconds int32 `json:"periodSeconds"`
}

// ScalingPolicyType is the unit of a policy's value.
//
// +kubebuilder:validation:Enum=Pods;Percent
type ScalingPolicyType string

// The units of a policy's value.
const (
	PodsScalingPolicy    ScalingPolicyType = "Pods"
	PercentScalingPolicy ScalingPolicyType = "Percent"
)

// ScalingPolicySelect selects one of several policies.
//
// +kubebuilder:validation:Enum=Max;Min;Disabled
type ScalingPolicySelect string

// The selections among several policies.
const (
	// MaxChangePolicySelect selects the policy that permits the largest change.
	MaxChangePolicySelect ScalingPolicySelect = "Max"
	// MinChangePolicySelect selects the policy that permits the smallest change.
	MinChangePolicySelect ScalingPolicySelect = "Min"
	// DisabledPolicySelect permits no change in the direction.
	DisabledPolicySelect ScalingPolicySelect = "Disabled"
)

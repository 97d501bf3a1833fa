package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Forecast configures scaling by the load of earlier days.
//
// +kubebuilder:validation:XValidation:rule=`self.mode != 'Off' || (!has(self.wasteLimitPercent) && !has(self.shortageCostFactor))`,message="must be Preview or Active beside wasteLimitPercent and shortageCostFactor",fieldPath=".mode"
type Forecast struct {
	// Active raises the replica count before the load comes, if on the last days that would have been worth the wasted
	// pods: shortageCostFactor weighs the two. Preview computes and shows the same, and raises nothing. Off learns nothing.
	Mode ForecastMode `json:"mode"`

	// The most that the forecast may waste, in percent of all pod-minutes. A forecast that
	// would have wasted more on the last days raises nothing. The default is 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	WasteLimitPercent *int32 `json:"wasteLimitPercent,omitempty"`

	// How many wasted pod-minutes are as bad as one pod-minute of missing capacity. The higher it is, the sooner a
	// forecast raises the count. The default is 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ShortageCostFactor *int32 `json:"shortageCostFactor,omitempty"`
}

// ForecastMode is how a forecast is used.
//
// +kubebuilder:validation:Enum=Off;Preview;Active
type ForecastMode string

// The modes of forecasts.
const (
	// ForecastOff learns nothing and shows nothing.
	ForecastOff ForecastMode = "Off"
	// ForecastPreview computes and shows the forecast, and raises nothing.
	ForecastPreview ForecastMode = "Preview"
	// ForecastActive raises the replica count.
	ForecastActive ForecastMode = "Active"
)

// ForecastStatus is the forecast at the last decision, and its value on the last days.
type ForecastStatus struct {
	// How the forecast is used: Preview or Active.
	Mode ForecastMode `json:"mode"`

	// In one word, why the forecast proposes replicas or none: InUse, Learning, LoadUnknown, NotWorthItsPrice or
	// AboveWasteLimit.
	Reason string `json:"reason"`

	// The same in a sentence, with its numbers.
	// +optional
	Message string `json:"message,omitempty"`

	// The replica count that it proposes, or would propose in mode Active. It is absent
	// where it proposes none.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// The largest load that is expected until pods created now are ready, as the number of pods that carry it at the
	// metrics' targets. It is absent while it is unknown.
	// +optional
	ExpectedPods *int32 `json:"expectedPods,omitempty"`

	// The expected time until new pods are ready, in seconds: nine of the target's last ten took no longer. It is 30 while
	// that is unknown.
	// +optional
	StartUpSeconds *int32 `json:"startUpSeconds,omitempty"`

	// The pod-minutes of missing capacity that the forecast avoids on a day like the last
	// ones, if it is always used.
	// +optional
	AvoidedPodMinutesPerDay *int32 `json:"avoidedPodMinutesPerDay,omitempty"`

	// The pod-minutes that it adds on such a day without need.
	// +optional
	WastedPodMinutesPerDay *int32 `json:"wastedPodMinutesPerDay,omitempty"`

	// When it will have enough history to propose replicas. It is absent once it has.
	// +optional
	LearningUntil *metav1.Time `json:"learningUntil,omitempty"`
}

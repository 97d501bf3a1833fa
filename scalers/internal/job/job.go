// Package job has what a process of scalers is to read: one metric of a WorkloadAutoscaler.
package job

import (
	"encoding/json"
	"fmt"
)

// MetadataKeys of a request. The controller sends the name of the metric, and its scaler as JSON. The server sends the
// whole job to the process of the trigger's type.
const (
	MetricKey = "metric"
	ScalerKey = "scaler"
	JobKey    = "job"
)

// Scaler is the field scaler of a metric, as far as it says what to read. Its JSON is that of the API.
type Scaler struct {
	Type              string             `json:"type"`
	Metadata          map[string]string  `json:"metadata,omitempty"`
	AuthenticationRef *AuthenticationRef `json:"authenticationRef,omitempty"`
}

// AuthenticationRef names a TriggerAuthentication or a ClusterTriggerAuthentication.
type AuthenticationRef struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
}

// Target is what the object scales.
type Target struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// Job is one metric of an object.
type Job struct {
	Namespace string `json:"namespace"`
	Object    string `json:"object"`
	Metric    string `json:"metric"`
	Target    Target `json:"target"`
	Scaler    Scaler `json:"scaler"`
}

// ID identifies the metric, whatever its fields say.
func (j *Job) ID() string { return j.Namespace + "/" + j.Object + "/" + j.Metric }

// Encode returns the job as JSON, in which keys are sorted: equal jobs have equal texts.
func (j *Job) Encode() string {
	text, err := json.Marshal(j)
	if err != nil {
		panic("a job is JSON: " + err.Error())
	}
	return string(text)
}

// Decode is the inverse of Encode.
func Decode(text string) (Job, error) {
	var j Job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return Job{}, fmt.Errorf("job: %w", err)
	}
	return j, nil
}

// Text returns the scaler as JSON with sorted keys, to compare two.
func (s *Scaler) Text() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic("a scaler is JSON: " + err.Error())
	}
	return string(text)
}

// Package job has what a process of scalers is to read: one metric of a WorkloadAutoscaler.
package job

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Keys of the metadata of a request. The controller sends the name of the metric, and its scaler as JSON. The server
// sends the whole job to the process of the trigger's type, and the ID of a metric that was deleted.
const (
	MetricKey  = "metric"
	ScalerKey  = "scaler"
	JobKey     = "job"
	DeletedKey = "deleted"
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

// Is reports whether a scaler in JSON has the same fields. Other fields, of a newer controller, do not count.
func (s *Scaler) Is(text string) bool {
	var other Scaler
	if err := json.Unmarshal([]byte(text), &other); err != nil {
		return false
	}
	return s.Type == other.Type && maps.Equal(s.Metadata, other.Metadata) &&
		isSame(s.AuthenticationRef, other.AuthenticationRef)
}

func isSame(a, b *AuthenticationRef) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

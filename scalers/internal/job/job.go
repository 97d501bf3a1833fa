// Package job describes what the process of a type of trigger reads: one metric of a WorkloadAutoscaler, with the
// target of the object. The server sends it with each request.
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

// Scaler has those fields of a metric's scaler that determine what is read. Its JSON is that of the API.
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

// Target is the scaleTargetRef of the object.
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

// ID identifies the metric, also after an edit.
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

// Is reports whether a scaler in JSON has the same fields. It ignores fields that it does not know: the controller may
// be newer.
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

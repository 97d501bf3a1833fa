package scaledobject_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

func specOf(t *testing.T, text string) *scaledobject.Spec {
	t.Helper()
	var s scaledobject.Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestDefaults: a ScaledObject scales a Deployment from 0 to 100 replicas, unless it says otherwise.
func TestDefaults(t *testing.T) {
	for name, tt := range map[string]struct {
		spec        string
		target      autoscalingv2.CrossVersionObjectReference
		least, most int32
	}{
		"none set": {
			`{"scaleTargetRef": {"name": "web"}}`,
			autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, 0, 100,
		},
		"all set": {
			`{"scaleTargetRef": {"apiVersion": "a/v1", "kind": "B", "name": "c"}, "minReplicaCount": 2, "maxReplicaCount": 9}`,
			autoscalingv2.CrossVersionObjectReference{APIVersion: "a/v1", Kind: "B", Name: "c"}, 2, 9,
		},
	} {
		s := specOf(t, tt.spec)
		if got := s.Target(); got != tt.target {
			t.Errorf("%s: the target is %+v", name, got)
		}
		if least, most := s.Bounds(); least != tt.least || most != tt.most {
			t.Errorf("%s: from %d to %d, want %d to %d", name, least, most, tt.least, tt.most)
		}
	}
}

func TestBehavior(t *testing.T) {
	for spec, want := range map[string]bool{
		`{}`:               false,
		`{"advanced": {}}`: false,
		`{"advanced": {"horizontalPodAutoscalerConfig": {"name": "web"}}}`:                 false,
		`{"advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": {}}}}}`: true,
	} {
		if got := specOf(t, spec).Behavior(); (got["scaleDown"] != nil) != want {
			t.Errorf("%s: %v", spec, got)
		}
	}
}

// TestCronOf: start and end are five fields each, and differ. An error names the field.
func TestCronOf(t *testing.T) {
	c, err := scaledobject.CronOf(" 0 9 * * 1-5", "0 17 * * 1-5 ")
	if err != nil {
		t.Fatal(err)
	}
	friday := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if start, end := c.Starts.Next(friday), c.Ends.Next(friday); start.Weekday() != time.Monday || start.Hour() != 9 ||
		!end.Equal(friday.Add(5*time.Hour)) {
		t.Errorf("starts at %v, ends at %v", start, end)
	}
	for _, tt := range []struct{ start, end, names string }{
		{"0 9 * * *", " 0 9 * * * ", "start and end"}, {"9", "0 17 * * *", "start: "}, {"0 9 * * *", "@never", "end: "},
		{"0 0 9 * * *", "0 17 * * *", "start: "},
	} {
		if _, err := scaledobject.CronOf(tt.start, tt.end); err == nil || !strings.HasPrefix(err.Error(), tt.names) {
			t.Errorf("from %q to %q: %v", tt.start, tt.end, err)
		}
	}
}

// TestNearestTypes: types that KEDA has mean themselves.
func TestNearestTypes(t *testing.T) {
	for name, want := range map[string][]string{
		"redis": nil, "redis-stream": {"redis-streams", "redis"}, "rabitmq": {"rabbitmq"}, "RabbitMQ": {"rabbitmq"}, "": nil,
		"no-such-scaler": nil,
	} {
		got := scaledobject.NearestTypes(name)
		if len(want) == 0 && len(got) > 0 || len(want) > 0 && (len(got) == 0 || got[0] != want[0]) {
			t.Errorf("%q: %q, want %q first", name, got, want)
		}
	}
}

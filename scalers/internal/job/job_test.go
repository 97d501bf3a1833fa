package job

import (
	"reflect"
	"testing"
)

// Requests have the JSON of the controller (internal/observe/horizontal/sources), or that of a newer one.
func TestIs(t *testing.T) {
	s := Scaler{
		Type: "redis", Metadata: map[string]string{"listName": "a<b", "address": "redis:6379"},
		AuthenticationRef: &AuthenticationRef{Name: "auth", Kind: "TriggerAuthentication"},
	}
	const (
		metadata = `"metadata":{"address":"redis:6379","listName":"a\u003cb"}`
		ref      = `"authenticationRef":{"name":"auth","kind":"TriggerAuthentication"}`
	)
	for text, want := range map[string]bool{
		`{"type":"redis",` + metadata + `,` + ref + `}`:                                                               true,
		`{"newer":{"a":1},` + ref + `,"type":"redis",` + metadata + `}`:                                               true,
		`{"type":"redis","metadata":{"listName":"a<b","address":"redis:6379"},` + ref + `}`:                           true,
		`{"type":"redis-streams",` + metadata + `,` + ref + `}`:                                                       false,
		`{"type":"redis",` + metadata + `}`:                                                                           false,
		`{"type":"redis",` + ref + `}`:                                                                                false,
		`{"type":"redis",` + metadata + `,"authenticationRef":{"name":"other"}}`:                                      false,
		`{"type":"redis",` + metadata + `,"authenticationRef":{"name":"auth","kind":"ClusterTriggerAuthentication"}}`: false,
		`{"type":"redis","metadata":{"address":"redis:6379","listName":"other"},` + ref + `}`:                         false,
		`{"type":"redis",` + metadata:                                                                                 false,
	} {
		if s.Is(text) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
	empty := Scaler{Type: "cron"}
	if !empty.Is(`{"type":"cron","metadata":{}}`) {
		t.Error("no metadata and empty metadata differ")
	}
}

func TestDecode(t *testing.T) {
	j := Job{
		Namespace: "shop", Object: "jobs", Metric: "queue",
		Target: Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		Scaler: Scaler{
			Type: "redis", Metadata: map[string]string{"listName": "a"},
			AuthenticationRef: &AuthenticationRef{Name: "auth", Kind: "ClusterTriggerAuthentication"},
		},
	}
	got, err := Decode(j.Encode())
	if err != nil || !reflect.DeepEqual(got, j) || got.ID() != "shop/jobs/queue" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Decode("{"); err == nil {
		t.Error("half a document is accepted")
	}
}

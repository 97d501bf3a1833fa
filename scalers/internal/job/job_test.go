package job

import "testing"

// The text is that of the controller (internal/observe/horizontal/sources), or requests would be refused.
func TestText(t *testing.T) {
	s := Scaler{
		Type: "redis", Metadata: map[string]string{"listName": "a<b", "address": "redis:6379"},
		AuthenticationRef: &AuthenticationRef{Name: "auth", Kind: "TriggerAuthentication"},
	}
	const want = `{"type":"redis","metadata":{"address":"redis:6379","listName":"a\u003cb"},` +
		`"authenticationRef":{"name":"auth","kind":"TriggerAuthentication"}}`
	if got := s.Text(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestDecode(t *testing.T) {
	j := Job{Namespace: "shop", Object: "jobs", Metric: "queue", Scaler: Scaler{Type: "redis"}}
	got, err := Decode(j.Encode())
	if err != nil || got.Encode() != j.Encode() || got.ID() != "shop/jobs/queue" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Decode("{"); err == nil {
		t.Error("half a document is accepted")
	}
}

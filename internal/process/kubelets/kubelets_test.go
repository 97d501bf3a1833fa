package kubelets

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
)

// tokenOf is a token, and those that were refused.
type tokenOf struct {
	token   string
	refused []string
}

// Token implements kubelet.Tokens.
func (t *tokenOf) Token(context.Context) (string, error) { return t.token, nil }

// Refused implements kubelet.Tokens.
func (t *tokenOf) Refused(token string) { t.refused = append(t.refused, token) }

// TestTokenThatTheAPIServerRefuses: before any kubelet is asked, the API server is asked
// for the rights of the account whose token kubelets see. Where it does not know the
// token, as that account was made anew, another one is to be issued.
func TestTokenThatTheAPIServerRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") == "Bearer old" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w,
			`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string][]string{"old": {"old"}, "new": nil} {
		c, tokens := &Config{}, &tokenOf{token: token}
		c.Options.Tokens = tokens
		missing, err := c.access(config, client)(t.Context())
		if missing != "" || apierrors.IsUnauthorized(err) != (want != nil) {
			t.Errorf("%s token: %q is missing, %v", token, missing, err)
		}
		if !slices.Equal(tokens.refused, want) {
			t.Errorf("%s token: refused %q, want %q", token, tokens.refused, want)
		}
	}
}

func TestReads(t *testing.T) {
	for source, want := range map[MetricsSource]bool{Auto: true, Kubelet: true, API: false} {
		if c := (Config{Source: source}); c.Reads() != want {
			t.Errorf("%s: %v, want %v", source, c.Reads(), want)
		}
	}
}

// TestSampleInterval: who has kubelets scraped seldom has them stand in for agents, not set the pace. An object far
// from a scale-up was decided once in the kubelets' interval, however fresh the agents' samples were.
func TestSampleInterval(t *testing.T) {
	agents, slow := Agents{Namespace: "plimsoll-node-agent"}, Agents{Namespace: "plimsoll-node-agent", Period: 2 * time.Second}
	for name, tt := range map[string]struct {
		config Config
		want   time.Duration
	}{
		"kubelets alone":           {Config{Source: Auto, Interval: 10 * time.Second}, 10 * time.Second},
		"agents beside them":       {Config{Source: Auto, Interval: 10 * time.Second, Agents: agents}, podusage.AgentPeriod},
		"agents of a period":       {Config{Source: Auto, Interval: 10 * time.Second, Agents: slow}, 2 * time.Second},
		"kubelets are more often":  {Config{Source: Auto, Interval: time.Second, Agents: slow}, time.Second},
		"agents that are not read": {Config{Source: API, Interval: 10 * time.Second, Agents: agents}, 10 * time.Second},
	} {
		if got := tt.config.SampleInterval(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

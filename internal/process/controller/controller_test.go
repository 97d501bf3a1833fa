package controller

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// TestHealthCheck: the probes of upstream's manifests succeed, and the recommender has time to write checkpoints.
func TestHealthCheck(t *testing.T) {
	cfg := &Config{Components: []string{Recommender}}
	cfg.Recommender.FlushTimeout = time.Minute
	var options ctrl.Options
	var dead error
	cfg.setVertical(&options, func() error { return dead })
	if grace := options.GracefulShutdownTimeout; grace == nil || *grace <= time.Minute {
		t.Errorf("the end may take %v", grace)
	}
	for _, want := range []int{http.StatusOK, http.StatusInternalServerError} {
		recorder := httptest.NewRecorder()
		options.Metrics.ExtraHandlers["/health-check"].ServeHTTP(recorder,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health-check", http.NoBody))
		if recorder.Code != want {
			t.Errorf("%d: %s", recorder.Code, recorder.Body)
		}
		dead = errors.New("no pass has ended")
	}
}

// TestFieldManager: installations with different Leases have different names, which the API server accepts.
func TestFieldManager(t *testing.T) {
	long := strings.Repeat("n", 63)
	for name, tt := range map[string]struct{ namespace, lease, want string }{
		"by default":          {"plimsoll-system", "plimsoll-controller", "plimsoll"},
		"another namespace":   {"team-a", "plimsoll-controller", "plimsoll/team-a"},
		"another name":        {"plimsoll-system", "second", "plimsoll/plimsoll-system/second"},
		"names that are long": {long, long, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := fieldManager(tt.namespace, tt.lease)
			if tt.want != "" && got != tt.want || len(got) > 128 {
				t.Errorf("%q of %d characters, want %q", got, len(got), tt.want)
			}
			if tt.want == "" && got == fieldManager(tt.namespace, tt.lease[1:]+"m") {
				t.Error("another Lease has the same name")
			}
		})
	}
}

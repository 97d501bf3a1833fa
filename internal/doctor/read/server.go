package read

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// clockReadings is how often the API server's clock is read. The fastest answer says most.
const clockReadings = 3

// isRefusal reports that the API server refuses this one thing, and may answer others. With credentials that it does
// not accept, and at an address where there is no Kubernetes, nothing can be read.
func isRefusal(err error) bool {
	return isAnswer(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsNotFound(err)
}

// server reads the API server's version and clock. It is an error if nothing answers.
func (r *reader) server(ctx context.Context) error {
	server := &r.facts.Server
	what := request{verb: "get", resource: "/version", isOfCluster: true}
	for range clockReadings {
		read, err := r.api.do(ctx, http.MethodGet, "/version", nil, nil)
		if err != nil {
			server.Unread = what.unread(err)
			switch {
			case isRefusal(err):
				return nil
			case apierrors.IsNotFound(err):
				return &cmderror.Error{What: "there is no API server of Kubernetes at " + r.api.base.Host,
					Next: "is the server of the kubeconfig right? kubectl config view --minify shows it", Cause: err}
			}
			return fmt.Errorf("the cluster cannot be examined: %w", what.sentence(err))
		}
		var version struct {
			GitVersion string `json:"gitVersion"`
		}
		if err := json.Unmarshal(read.body, &version); err != nil {
			return fmt.Errorf("the cluster cannot be examined: the answer to /version: %w", err)
		}
		server.Value.Version = version.GitVersion
		compareClocks(&server.Value, read)
	}
	return nil
}

// compareClocks records the Date of an answer, which has whole seconds and was written between the two times here.
func compareClocks(server *doctor.Server, read *answer) {
	date, err := http.ParseTime(read.header.Get("Date"))
	if err != nil {
		return
	}
	const half = time.Second / 2
	way := read.received.Sub(read.sent) / 2
	uncertainty := half + way
	if server.HasClock && server.Uncertainty <= uncertainty {
		return
	}
	server.HasClock, server.Uncertainty = true, uncertainty
	server.Ahead = date.Add(half).Sub(read.sent.Add(way).Round(0))
}

package promquery

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// request is what is asked of a server. Equal ones are asked once.
type request struct {
	target clientauth.Target
	// url is that of the query API, without the query.
	url                                    string
	query, tenant, tenantHeader, namespace string
}

// errAddress is the reason of addresses that the API server would have refused.
var errAddress = errors.New("not an http or https URL with a host, and without user, query and fragment")

func requestOf(namespace string, spec *sources.Prometheus) (request, error) {
	u, err := url.Parse(spec.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return request{}, fmt.Errorf("serverAddress: %w", errAddress)
	}
	isTLS := u.Scheme == "https"
	port := u.Port()
	switch {
	case port == "" && isTLS:
		port = "443"
	case port == "":
		port = "80"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return request{}, errors.New("serverAddress: the port must be 1 to 65535")
	}
	return request{
		target: clientauth.Target{
			Namespace: namespace, Host: net.JoinHostPort(u.Hostname(), port), IsTLS: isTLS, TLS: spec.TLS,
			Credentials: spec.Credentials,
		},
		url: u.JoinPath("api", "v1", "query").String(), query: spec.Query, tenant: spec.Tenant,
		tenantHeader: spec.TenantHeader, namespace: spec.Namespace,
	}, nil
}

// parameters are those of the query API.
func (r *request) parameters(timeout time.Duration) string {
	values := url.Values{"query": {r.query}, "timeout": {timeout.String()}}
	if r.namespace != "" {
		values.Set("namespace", r.namespace)
	}
	return values.Encode()
}

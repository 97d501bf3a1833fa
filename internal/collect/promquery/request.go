package promquery

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// request is a query to a server. Equal requests share a poll.
type request struct {
	target clientauth.Target
	// url is that of the query API, without the query.
	url                                    string
	query, tenant, tenantHeader, namespace string
	// others is a query string.
	others string
}

// complete makes servers refuse queries that they can answer only in part: Thanos and VictoriaMetrics.
var complete = map[string]string{"partial_response": "false", "deny_partial_response": "1"}

// errAddress is the error of addresses that the API server would have refused.
var errAddress = errors.New("not an http or https URL with a host, and without user, query and fragment")

// reserved are the parameters that a metric must not set.
var reserved = []string{"query", "time", "timeout", "namespace"}

func requestOf(namespace string, spec *sources.Prometheus) (request, error) {
	u, err := url.Parse(spec.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return request{}, fmt.Errorf("serverAddress: %w", errAddress)
	}
	if err := checkParameters(spec.Parameters); err != nil {
		return request{}, err
	}
	isTLS := u.Scheme == "https"
	port, err := portOf(u, isTLS)
	if err != nil {
		return request{}, err
	}
	return request{
		target: clientauth.Target{
			Namespace: namespace, Host: net.JoinHostPort(u.Hostname(), port), IsTLS: isTLS, TLS: spec.TLS,
			Credentials: spec.Credentials,
		},
		url: u.JoinPath("api", "v1", "query").String(), query: spec.Query, tenant: spec.Tenant,
		tenantHeader: spec.TenantHeader, namespace: spec.Namespace, others: spec.Parameters,
	}, nil
}

func portOf(u *url.URL, isTLS bool) (string, error) {
	port := u.Port()
	switch {
	case port == "" && isTLS:
		port = "443"
	case port == "":
		port = "80"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("serverAddress: the port must be 1 to 65535")
	}
	return port, nil
}

func checkParameters(text string) error {
	if others, err := url.ParseQuery(text); err != nil || slices.ContainsFunc(reserved, others.Has) {
		return fmt.Errorf("queryParameters: must be a query string without %s", strings.Join(reserved, ", "))
	}
	return nil
}

// parameters returns those of the query API, and the metric's own.
func (r *request) parameters(timeout time.Duration) string {
	values, err := url.ParseQuery(r.others)
	if err != nil {
		values = url.Values{} // requestOf has checked it
	}
	for name, value := range complete {
		switch {
		case !values.Has(name):
			values.Set(name, value)
		case values.Get(name) == "":
			values.Del(name)
		}
	}
	values.Set("query", r.query)
	values.Set("timeout", timeout.String())
	if r.namespace != "" {
		values.Set("namespace", r.namespace)
	}
	return values.Encode()
}

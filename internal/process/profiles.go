package process

import (
	"net"
	"net/http"
	"net/http/pprof"
)

// Profiles are the handlers of /debug/pprof. Whoever reads a profile slows the process
// down and sees what it does: it is answered to connections from the pod itself alone.
func Profiles() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pprof/":        fromLoopback(pprof.Index),
		"/debug/pprof/cmdline": fromLoopback(pprof.Cmdline),
		"/debug/pprof/profile": fromLoopback(pprof.Profile),
		"/debug/pprof/symbol":  fromLoopback(pprof.Symbol),
		"/debug/pprof/trace":   fromLoopback(pprof.Trace),
	}
}

// fromLoopback answers connections from a loopback address, as those of kubectl
// port-forward are.
func fromLoopback(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !IsLoopback(r.RemoteAddr) {
			http.Error(w, "only connections from the pod itself, such as those of kubectl port-forward", http.StatusForbidden)
			return
		}
		next(w, r)
	})
}

// IsLoopback reports whether an address, with its port, is of this machine alone.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

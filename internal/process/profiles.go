package process

import (
	"net"
	"net/http"
	"net/http/pprof"
)

// Profiles returns the handlers of /debug/pprof. Reading a profile slows the process down and reveals its work: only
// connections from the pod itself are served.
func Profiles() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pprof/":        fromLoopback(pprof.Index),
		"/debug/pprof/cmdline": fromLoopback(pprof.Cmdline),
		"/debug/pprof/profile": fromLoopback(pprof.Profile),
		"/debug/pprof/symbol":  fromLoopback(pprof.Symbol),
		"/debug/pprof/trace":   fromLoopback(pprof.Trace),
	}
}

// fromLoopback serves only connections from a loopback address, as those of kubectl port-forward are.
func fromLoopback(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !IsLoopback(r.RemoteAddr) {
			http.Error(w, "only connections from the pod itself, such as those of kubectl port-forward", http.StatusForbidden)
			return
		}
		next(w, r)
	})
}

// IsLoopback reports whether an address, with its port, is a loopback address.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

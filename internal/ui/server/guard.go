package server

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

const (
	tokenParameter = "token"
	cookiePrefix   = "plimsoll-ui-"
	// policy permits the page's own files, and no inline scripts or styles.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// guard rejects requests without the session's token.
//
//   - Another page's script reaches this port, too: with a name of its own that leads to 127.0.0.1 (DNS rebinding), or
//     with a request that carries no token. The Host header shows the first, and what browsers say of a request's
//     origin the second.
//   - The token leaves the address at once, for a cookie: addresses get into histories and screenshots.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		switch {
		case !s.isOwnHost(r.Host):
			http.Error(w, "this address is not that of plimsoll ui", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && !isQuestion(r):
			http.Error(w, "the page reads only", http.StatusMethodNotAllowed)
		case r.Method != http.MethodPost && s.isKey(r.URL.Query().Get(tokenParameter)):
			http.SetCookie(w, &http.Cookie{
				Name: s.cookie(), Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case !s.hasCookie(r):
			http.Error(w, "open the address that plimsoll ui has printed: it has a token, and this one has not",
				http.StatusForbidden)
		case isForeign(r):
			http.Error(w, "this request comes from another site", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isQuestion reports whether the request has other settings in its body, which the server simulates and does not store.
// Another site's form cannot send JSON.
func isQuestion(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == whatIfPath }

func setHeaders(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cache-Control", "no-store")
}

// cookie returns the name of the cookie, which includes the port: cookies do not distinguish the ports of a host.
func (s *Server) cookie() string {
	_, port, _ := net.SplitHostPort(s.host())
	return cookiePrefix + port
}

func (s *Server) isOwnHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	_, own, _ := net.SplitHostPort(s.host())
	return err == nil && port == own && (name == "127.0.0.1" || strings.EqualFold(name, "localhost"))
}

// isKey reports whether a token opens the page: the session's, or once the single-use one.
func (s *Server) isKey(text string) bool {
	isOnce := subtle.ConstantTimeCompare([]byte(text), []byte(s.once)) == 1
	return s.isToken(text) || isOnce && s.taken.CompareAndSwap(false, true)
}

func (s *Server) isToken(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(s.token)) == 1
}

func (s *Server) hasCookie(r *http.Request) bool {
	cookie, err := r.Cookie(s.cookie())
	return err == nil && s.isToken(cookie.Value)
}

func isForeign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return true
	}
	origin := r.Header.Get("Origin")
	return origin != "" && origin != "http://"+r.Host
}

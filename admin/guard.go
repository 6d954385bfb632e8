package admin

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/web/front"
)

// How many connections the service has at a time, in all and from one address.
// The second, and that the address with most connections makes room for others,
// leave one for the operator, even if others find the port.
const (
	maxConns        = 512
	maxConnsPerAddr = 128
)

// writeTimeout is how long a client may take to read an answer, or the next part
// of one that has no bound.
const writeTimeout = 30 * time.Second

// extendDeadline gives the client writeTimeout from now to read.
func extendDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // test writers have none
}

// errTokenInQuery is the answer to a request with a token in its address.
var errTokenInQuery = errors.New("a token does not belong into the address: addresses end up in logs and histories. " +
	"Send it as \"Authorization: Bearer TOKEN\", and make a new one now: stop the daemon, remove its token file, start it")

// tokenInQuery reports whether a token is in the address: ours under any name, or
// any value under a usual name of tokens.
func (s *Server) tokenInQuery(r *http.Request) bool {
	if r.URL.RawQuery == "" {
		return false
	}
	for name, values := range r.URL.Query() {
		switch strings.ToLower(name) {
		case "token", "access_token", "admin_token", "auth", "authorization", "bearer", "api_key", "apikey":
			return true
		}
		if slices.ContainsFunc(values, s.rightToken) {
			return true
		}
	}
	return false
}

// knownHost reports whether the page may be opened under the host that a request
// names: an IP address, a name of this machine, or one of Options.Names. Any
// other may be a foreign site whose name was made to lead here, so that its
// scripts would pass for ours.
func (s *Server) knownHost(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || slices.Contains(s.opt.Config.Names, host)
}

// pageHeaders sets the headers of every page.
func pageHeaders(h http.Header) {
	front.PageHeaders(h)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

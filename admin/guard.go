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

// Limits of concurrent connections, in total and per address. The limit per
// address, and the eviction of connections of the address with most of them,
// leave one for the operator, even if others find the port.
const (
	maxConns        = 512
	maxConnsPerAddr = 128
)

// writeTimeout is how long a client may take to read an answer, or the next
// part of a stream.
const writeTimeout = 30 * time.Second

// extendDeadline sets the write deadline to writeTimeout from now.
func extendDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // test writers have none
}

// errTokenInQuery is the answer to a request with a token in its address.
var errTokenInQuery = errors.New("a token must not be in the address: addresses end up in logs and histories. " +
	"Send it as \"Authorization: Bearer TOKEN\", and make a new one now: stop the daemon, remove its token file, start it")

// tokenInQuery reports whether a token is in the URL: our token under any name,
// or any value under a usual name of tokens.
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

// knownHost reports whether the page may be opened under the host that a
// request names: an IP address, a name of this machine, or one of
// Options.Names. Any other may be a foreign site whose name was pointed at this
// server, so that its scripts would have access (DNS rebinding).
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

package admin

import (
	"net/http"
	"net/netip"
	"net/url"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Headers with which the command line identifies its user, for the audit log
// only: the token permits everything under any name.
const (
	viaHeader = "Respawnd-Via" // cli
	byHeader  = "Respawnd-By"  // a name, percent-encoded
)

// maxByHeader is the longest byHeader that is read, in bytes.
const maxByHeader = 3 * storage.MaxAuditBy

// apiActor returns the actor of a request to the API.
func apiActor(r *http.Request) operator.Actor {
	a := operator.Actor{Via: storage.ViaAPI, From: peerOf(r)}
	if r.Header.Get(viaHeader) == string(storage.ViaCommand) {
		a.Via = storage.ViaCommand
	}
	if text := r.Header.Get(byHeader); len(text) <= maxByHeader {
		if by, err := url.QueryUnescape(text); err == nil {
			a.By = by
		}
	}
	return a
}

// peerOf returns the address that a request came from. Behind a proxy it is
// that of the proxy: headers with the original address can be forged.
func peerOf(r *http.Request) netip.Addr {
	a, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address means unknown
	return a.Addr().Unmap()
}

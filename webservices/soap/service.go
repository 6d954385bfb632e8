package soap

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
)

// Request is a request of a game.
type Request struct {
	Host   string // in lower case, without a port
	Path   string // as the client wrote it
	Method string // of the body; the SOAPAction of some clients names another one
	Label  string // of the game in Host; empty if its pattern has none
	Game   string // name in the catalogue; empty: not known
	From   netip.AddrPort
	Secure bool     // it came over the encrypted listener
	Body   *Element // of the method
	// Attachments are the further records of a DIME message.
	Attachments [][]byte
}

// ErrIdentity is matched by errors of backends about requests whose certificate or proof is not
// valid.
var ErrIdentity = errors.New("the identity of the sender is not proved")

// Handler executes a method and returns the reply, see Reply. ctx ends when the
// client has gone or the service stops.
type Handler func(ctx context.Context, r *Request) []byte

// APIHost is the pattern of the host at which games of 2011 and later have all services.
const APIHost = "{g}.api.{d}"

// Service is a set of methods at one path. Clients read a reply only if its
// status is 200, so every method gets one, and errors are part of it.
type Service struct {
	Name string // of the backend, for metrics: "auth"
	// Hosts are patterns of the hosts that the path exists on: {g} stands for the
	// game, {d} for a domain, such as {g}.sake.{d}.
	Hosts     []string
	Path      string // without regard to case
	Namespace string // of the methods, as in replies
	Methods   map[string]Handler
	MaxBody   int // bytes of a request; 0: MaxBody
	// Fault returns the reply to a request that cannot be executed: its body cannot
	// be read, or its method is unknown. method is its name in the
	// request, clean enough to be the name of an element. nil: a reply without content.
	Fault func(method string) []byte
	// DIME reads the body of a request whose content type is application/dime: the
	// envelope and the attachments. nil: there are no such requests. It must stop at
	// the end of the message, as clients send lengths that are too large.
	DIME func(*http.Request) (envelope []byte, attachments [][]byte, err error)
}

// Page is a path that is plain HTTP.
type Page struct {
	Name  string   // of the backend, for metrics: "motd"
	Hosts []string // see Service
	Path  string   // without regard to case
	// Serve answers a request. q has no Method and no Body. The body of r is bounded
	// by MaxBody, and must arrive within ten seconds unless Serve sets another deadline
	// (http.ResponseController).
	Serve   func(w http.ResponseWriter, r *http.Request, q *Request)
	MaxBody int64 // bytes of a body; 0: none may come
}

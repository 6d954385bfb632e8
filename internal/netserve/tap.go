package netserve

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync/atomic"
)

// A Tap is where a recording takes what one address and the services of a daemon say to each
// other. The zero value takes nothing, and costs each datagram and each call of a connection one
// atomic load. It may be used concurrently.
type Tap struct{ watch atomic.Pointer[Watch] }

// A Watch is one recording.
type Watch struct {
	Addr netip.Addr // whose dialogues are taken, IPv4 unmapped
	// Take takes a part of a dialogue. It is called concurrently and must not block. Data is valid
	// during the call only.
	Take func(Part)
}

// Begin gives w what passes from now on. It returns false while there is another Watch.
func (t *Tap) Begin(w *Watch) bool { return t.watch.CompareAndSwap(nil, w) }

// End ends the Watch.
func (t *Tap) End() { t.watch.Store(nil) }

// Watching returns the Watch; nil: nothing is taken.
func (t *Tap) Watching() *Watch { return t.watch.Load() }

// Act is what happened in a dialogue.
type Act uint8

// The acts.
const (
	Opened Act = iota // a connection is served
	Heard             // the client sent
	Said              // the service sent
	Closed            // the connection has ended
)

// A Part is a piece of a dialogue: a datagram, an HTTP request or answer, or some bytes of a
// connection.
type Part struct {
	Service string // as in metrics
	Over    string // "udp", "tcp" or "http"
	Stream  any    // the same for all parts of a connection, or of the datagrams of a client's port
	Port    uint16 // of the daemon
	Act     Act
	Data    []byte
	Cut     int // so many further bytes of an HTTP body are not in Data
}

// Tapped makes t take what is counted in m. It is called before m is used.
func (m *Metrics) Tapped(t *Tap) *Metrics {
	m.tap = t
	return m
}

// watching returns the recording under way; nil: there is none.
func (m *Metrics) watching() *Watch {
	if m == nil || m.tap == nil {
		return nil
	}
	return m.tap.Watching()
}

// packet records a datagram. w may be nil.
func (m *Metrics) packet(w *Watch, act Act, port uint16, peer netip.AddrPort, data []byte) {
	if w != nil && w.Addr == peer.Addr().Unmap() {
		w.Take(Part{Service: m.service, Over: "udp", Stream: netip.AddrPortFrom(w.Addr, peer.Port()), Port: port, Act: act, Data: data})
	}
}

// tell records a part of the connection.
func (c *Conn) tell(act Act, data []byte) {
	if w := c.metrics.watching(); w != nil && w.Addr == c.peer.Addr() {
		w.Take(Part{Service: c.metrics.service, Over: "tcp", Stream: c, Port: c.local.Port(), Act: act, Data: data})
	}
}

// passed records bytes of the connection unless its handler does that in plain text.
func (c *Conn) passed(act Act, data []byte) {
	if !c.ciphered && len(data) > 0 {
		c.tell(act, data)
	}
}

// Heard has a recording take a message of the client in plain text, see ConnOptions.Ciphered.
func (c *Conn) Heard(plain []byte) { c.tell(Heard, plain) }

// Said is Heard for messages to the client.
func (c *Conn) Said(plain []byte) { c.tell(Said, plain) }

// maxTapped is how much of the body of a request or an answer is recorded, in bytes.
const maxTapped = 64 << 10

// tapHTTP is next with a recording of its requests and answers.
func tapHTTP(m *Metrics, next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := m.watching()
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if w == nil || err != nil || w.Addr != peer.Addr().Unmap() {
			next.ServeHTTP(rw, r)
			return
		}
		part := Part{Service: m.service, Over: "http", Stream: r}
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			part.Port = addrPortOf(local).Port()
		}
		head, _ := httputil.DumpRequest(r, false) // fails only with a body
		request, answer := tapped{data: head}, &tappedAnswer{ResponseWriter: rw}
		if r.Body != nil {
			r.Body = &tappedBody{r.Body, &request}
		}
		defer func() {
			take := func(act Act, t *tapped) {
				part.Act, part.Data, part.Cut = act, t.data, t.cut
				w.Take(part)
			}
			take(Opened, &tapped{})
			take(Heard, &request)
			take(Said, &answer.tapped)
			take(Closed, &tapped{})
		}()
		next.ServeHTTP(answer, r)
	})
}

// tapped holds the beginning of what was written to it.
type tapped struct {
	data []byte
	cut  int
}

func (t *tapped) add(p []byte) {
	n := min(len(p), max(0, maxTapped-len(t.data)))
	t.data = append(t.data, p[:n]...)
	t.cut += len(p) - n
}

// tappedBody is the body of a request that is recorded while it is read.
type tappedBody struct {
	io.ReadCloser
	*tapped
}

func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.add(p[:n])
	return n, err
}

// tappedAnswer is an answer that is recorded while it is written.
type tappedAnswer struct {
	http.ResponseWriter
	tapped
	begun bool
}

// Unwrap serves http.ResponseController.
func (a *tappedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *tappedAnswer) WriteHeader(code int) {
	a.begin(code)
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *tappedAnswer) Write(p []byte) (int, error) {
	a.begin(http.StatusOK)
	n, err := a.ResponseWriter.Write(p)
	a.add(p[:n])
	return n, err
}

// begin records the status and the header.
func (a *tappedAnswer) begin(code int) {
	if a.begun || code < http.StatusOK {
		return
	}
	a.begun = true
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", code, http.StatusText(code))
	_ = a.Header().Write(&head) // memory takes all
	head.WriteString("\r\n")
	a.add(head.Bytes())
}

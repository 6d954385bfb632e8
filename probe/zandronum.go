package probe

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"

	"github.com/respawnd/respawnd/internal/query"
	wire "github.com/respawnd/respawnd/internal/zandronum"
)

// ZandronumLeast is the minimum time between two queries to a server of
// Zandronum.
const ZandronumLeast = time.Minute

// zandronumTalk requests all data of a Zandronum server at once.
type zandronumTalk struct {
	answer answer
	info   *wire.Info
}

func newZandronumTalk() *zandronumTalk {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return &zandronumTalk{answer: answer{time: binary.LittleEndian.Uint32(b[:])}}
}

// question requests everything. A server without segments ignores that request.
func (t *zandronumTalk) question() []byte {
	q := wire.Query{Flags: wire.AllFlags, Time: t.answer.time, Flags2: wire.AllFlags2, Segmented: true}
	return wire.Encode(nil, wire.AppendQuery(nil, q))
}

func (t *zandronumTalk) stage() int { return 0 }

func (t *zandronumTalk) take(packet []byte) (query.Step, error) {
	info, err := t.answer.take(wire.Decode(nil, packet, wire.MaxInfo+16))
	switch {
	case denies(err):
		return query.Done, err
	case err != nil || info == nil:
		return query.Wait, err
	}
	t.info = info
	return query.Done, nil
}

func (t *zandronumTalk) silence() query.Step { return query.Wait }

func (t *zandronumTalk) status() query.Status { return describeZandronum(t.info) }

func (t *zandronumTalk) partial() bool { return false }

func (t *zandronumTalk) held() bool { return false }

// errForged means that a message does not answer our query.
var errForged = errors.New("answer to another query")

// answer collects the answer to one query.
type answer struct {
	time  uint32         // repeated in the answer; secret from other addresses
	parts *wire.Assembly // nil until a segment comes
}

// take reads a message. With ErrTooSoon and ErrBanned there is no information;
// after any other error the answer may still come. Both results are nil if more
// segments are missing.
func (a *answer) take(message []byte) (*wire.Info, error) {
	kind, body := wire.ParseKind(message)
	switch kind {
	case wire.KindTooSoon, wire.KindBanned:
		return nil, a.denial(kind, body)
	case wire.KindSegment:
		whole, err := a.assemble(body)
		if whole == nil {
			return nil, err
		}
		body = whole
	case wire.KindInfo:
	default:
		return nil, wire.ErrMalformed
	}
	info, err := wire.ParseInfo(body)
	if err == nil && info.Time != a.time {
		return nil, errForged
	}
	return info, err
}

func (a *answer) denial(kind wire.Kind, body []byte) error {
	switch time, ok := wire.ParseDenial(body); {
	case !ok:
		return wire.ErrMalformed
	case time != a.time:
		return errForged
	case kind == wire.KindBanned:
		return ErrBanned
	default:
		return ErrTooSoon
	}
}

func (a *answer) assemble(body []byte) ([]byte, error) {
	s, err := wire.ParseSegment(body)
	if err != nil {
		return nil, err
	}
	if a.parts == nil {
		a.parts = new(wire.Assembly)
	}
	whole, err := a.parts.Add(s)
	if whole != nil || err != nil {
		// Begin again: a forged segment must not keep the real answer out.
		a.parts = nil
	}
	return whole, err
}

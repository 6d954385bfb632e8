package legacylist

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
)

// Bounds of what a client says before it gets its list.
const (
	// maxText is the most bytes of all its messages together. The longest filter
	// that can be read has 1024.
	maxText = 5000
	// quietList is how long a client that asked for a list without ending the
	// message must be silent for the message to count as ended.
	quietList = 100 * time.Millisecond
	// quietUnreal is how long a client of unreal must be silent after it has
	// introduced itself for it to be one that never asks for a list.
	quietUnreal = time.Second
)

// inbox is the client's side of a connection until it has asked for a list.
type inbox struct {
	conn *netserve.Conn
	time time.Duration // that the client has for its request
	text []byte        // all that came, but for NULs
	got  int           // bytes that came
	read int           // how much of text was taken as whole messages
}

// inquiry returns what the client asks for. The error is an ended or comes from
// the connection.
func (in *inbox) inquiry(ctx context.Context) (inquiry, error) {
	var r inquiry
	end := time.Now().Add(in.time)
	in.text = make([]byte, 0, maxText+1) // room for the byte that is too much
	quiet := time.Duration(0)            // how long to wait before deciding; 0: no decision is due
	for {
		by := end
		if soon := time.Now().Add(quiet); quiet > 0 && soon.Before(end) {
			by = soon
		}
		err := in.more(ctx, by)
		if in.cut(&r); r.listed {
			return r, nil
		}
		switch {
		case in.got > maxText:
			return r, endedTooLong
		case err == nil:
			quiet = in.quiet(&r)
			continue
		case ctx.Err() != nil || in.conn.Expired() || !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded):
			return r, err // the service ends, a bound of the connection was passed, or it is broken
		}
		if in.guess(&r); r.listed {
			return r, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return r, endedGone
		case by.Equal(end):
			return r, endedTimeout
		}
		quiet = 0
	}
}

// more reads what comes until a time.
func (in *inbox) more(ctx context.Context, by time.Time) error {
	if err := in.conn.SetReadDeadline(by); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // it may have ended before the deadline was set
		return err
	}
	had := len(in.text)
	n, err := in.conn.Read(in.text[had:cap(in.text)])
	in.got += n
	fresh := slices.DeleteFunc(in.text[had:had+n], func(b byte) bool { return b == 0 })
	in.text = in.text[:had+len(fresh)]
	return err
}

// cut takes whole messages up to the one that asks for a list.
func (in *inbox) cut(r *inquiry) {
	for !r.listed {
		message, _, ok := gamespy.CutFinal(in.text[in.read:min(len(in.text), maxText)])
		if !ok {
			return
		}
		r.take(string(message))
		in.read += len(message) + len(gamespy.Final)
	}
}

// rest returns what stands behind the last whole message.
func (in *inbox) rest() []byte { return in.text[in.read:] }

// asksForList reports whether a text may be a request for a list.
func asksForList(text []byte) bool { return bytes.Contains(bytes.ToLower(text), []byte(`\list`)) }

// quiet returns how long to wait for more before guessing what is meant, 0 if
// there is nothing to guess.
func (in *inbox) quiet(r *inquiry) time.Duration {
	switch {
	case asksForList(in.rest()):
		return quietList
	case r.introduced && r.engine == unreal:
		return quietUnreal
	}
	return 0
}

// guess decides on a client that has fallen silent: it may have left out the end
// of its request, or the request altogether.
func (in *inbox) guess(r *inquiry) {
	if asksForList(in.rest()) {
		whole := *r
		if whole.take(string(in.rest())); whole.listed && whole.game != "" {
			*r = whole
			in.read = len(in.text)
		}
		return
	}
	if r.introduced && r.engine == unreal {
		r.listed, r.mode = true, Plain
	}
}

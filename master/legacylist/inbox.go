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

// Bounds of a client before it gets its list.
const (
	// maxText is the maximum number of bytes of all its messages together. The
	// longest valid filter has 1024.
	maxText = 5000
	// quietList is the time of silence after which an unfinished list request
	// counts as ended.
	quietList = 100 * time.Millisecond
	// quietUnreal is the time of silence after which a client of unreal that
	// has identified itself gets the list without a request.
	quietUnreal = time.Second
)

// inbox is the client's side of a connection until it has asked for a list.
type inbox struct {
	conn *netserve.Conn
	time time.Duration // for the client's request
	text []byte        // received text without NULs
	got  int           // bytes received
	read int           // length of the whole messages in text that were parsed
}

// inquiry returns the client's request. The error is an ended or comes from the
// connection.
func (in *inbox) inquiry(ctx context.Context) (inquiry, error) {
	var r inquiry
	end := time.Now().Add(in.time)
	in.text = make([]byte, 0, maxText+1) // room for one byte over the limit
	quiet := time.Duration(0)            // wait before guess; 0: nothing to guess
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
			return r, err // the service ends, a limit of the connection was exceeded, or it is broken
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

// more reads data until a time.
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

// cut parses whole messages up to the one that requests a list.
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

// rest returns the text after the last whole message.
func (in *inbox) rest() []byte { return in.text[in.read:] }

// asksForList reports whether a text may be a request for a list.
func asksForList(text []byte) bool {
	text = bytes.ToLower(text)
	return bytes.Contains(text, []byte(`\list`)) || bytes.Contains(text, []byte(`\sync`))
}

// quiet returns how long to wait for more before guess, 0 if there is nothing
// to guess.
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
		if whole.take(string(in.rest())); whole.listed && (whole.game != "" || len(whole.games) > 0) {
			*r = whole
			in.read = len(in.text)
		}
		return
	}
	if r.introduced && r.engine == unreal {
		r.listed, r.mode = true, Plain
	}
}

package sakefiles

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of forms.
const (
	maxBoundary   = 128     // bytes of a boundary
	maxPartHeader = 4 << 10 // bytes of the header of a part
	windowSize    = 16 << 10
)

// Errors of reading a form.
var (
	errNoForm = errors.New("the body is not a form")
	errCut    = errors.New("the form ends before its last boundary")
)

// boundaryOf returns the boundary of a form. Games do not quote it, although it has the
// characters < and >, so it is everything behind "boundary=".
func boundaryOf(contentType string) (string, bool) {
	kind, params, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "multipart/form-data") {
		return "", false
	}
	at := strings.Index(ascii.ToLower(params), "boundary=")
	if at < 0 {
		return "", false
	}
	b := strings.TrimSpace(params[at+len("boundary="):])
	if quoted, ok := strings.CutPrefix(b, `"`); ok {
		b, _, ok = strings.Cut(quoted, `"`)
		if !ok {
			return "", false
		}
	}
	return b, b != "" && len(b) <= maxBoundary
}

// reader reads a form in constant memory:
//
//	--BOUNDARY CRLF
//	header lines, each with CRLF
//	CRLF
//	content of the part
//	CRLF --BOUNDARY CRLF, and the next part, or
//	CRLF --BOUNDARY-- at the end; the rest is not read
//
// The content of a part ends where the next boundary begins. A form that ends earlier is
// cut: clients send a Content-Length that is too small.
type reader struct {
	in   *bufio.Reader
	mark []byte // CRLF --BOUNDARY
	read int64  // bytes taken from in
	done bool   // the last boundary was read
}

// partHead is the header of a part of a form.
type partHead struct {
	file bool   // it has a file name
	name string // of the file, shortened; untrusted text
}

func newReader(in io.Reader, boundary string) *reader {
	return &reader{in: bufio.NewReaderSize(in, windowSize), mark: []byte("\r\n--" + boundary)}
}

// next reads the header of the next part, after the content of the one before was read to
// its end. The error is io.EOF after the last part.
func (r *reader) next() (partHead, error) {
	if r.done {
		return partHead{}, io.EOF
	}
	if r.read == 0 { // the first boundary has no line before it
		if err := r.expect(r.mark[2:]); err != nil {
			return partHead{}, err
		}
	}
	tail, err := r.take(2)
	switch {
	case err != nil:
		return partHead{}, err
	case string(tail) == "--":
		r.done = true
		return partHead{}, io.EOF
	case string(tail) != "\r\n":
		return partHead{}, errNoForm
	}
	return r.header()
}

func (r *reader) expect(want []byte) error {
	got, err := r.take(len(want))
	if err == nil && !bytes.Equal(got, want) {
		err = errNoForm
	}
	return err
}

// take reads n bytes, which are valid until the next call.
func (r *reader) take(n int) ([]byte, error) {
	b, err := r.in.Peek(n)
	if err != nil {
		return nil, ended(err)
	}
	_, _ = r.in.Discard(n)
	r.read += int64(n)
	return b, nil
}

// ended turns the end of the input into errCut.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

func (r *reader) header() (p partHead, err error) {
	start := r.read
	for {
		line, err := r.in.ReadSlice('\n')
		r.read += int64(len(line))
		switch {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return partHead{}, ended(err)
		case err != nil || r.read-start > maxPartHeader:
			return partHead{}, errNoForm
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return p, nil
		}
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.EqualFold(name, "Content-Disposition") {
			p.name, p.file = fileNameOf(value)
		}
	}
}

// fileNameOf returns the name of the file in the value of Content-Disposition, without folders and
// characters that cannot be stored. ok is false if there is none.
func fileNameOf(value string) (name string, ok bool) {
	for {
		at := strings.Index(ascii.ToLower(value), "filename=")
		if at < 0 {
			return "", false
		}
		if at == 0 || strings.IndexByte(" ;\t", value[at-1]) >= 0 {
			value = strings.TrimLeft(value[at+len("filename="):], " ")
			break
		}
		value = value[at+len("filename="):]
	}
	if quoted, found := strings.CutPrefix(value, `"`); found {
		value, _, _ = strings.Cut(quoted, `"`)
	} else {
		value, _, _ = strings.Cut(value, ";")
	}
	value = value[strings.LastIndexAny(value, `/\`)+1:]
	value = strings.Map(func(c rune) rune {
		if c < ' ' || c == utf8.RuneError || 0x7f <= c && c < 0xa0 {
			return -1
		}
		return c
	}, value)
	for len(value) > storage.MaxFileName {
		_, n := utf8.DecodeLastRuneInString(value)
		value = value[:len(value)-n]
	}
	return value, true
}

// content copies the content of a part, up to the next boundary, to w.
func (r *reader) content(w io.Writer) error {
	for {
		if _, err := r.in.Peek(len(r.mark)); err != nil { // fills the buffer
			return ended(err)
		}
		window, _ := r.in.Peek(r.in.Buffered())
		at := bytes.Index(window, r.mark)
		n := at
		if at < 0 { // the boundary may begin in the last bytes
			n = len(window) - len(r.mark) + 1
		}
		if _, err := w.Write(window[:n]); err != nil {
			return err
		}
		_, _ = r.in.Discard(n)
		r.read += int64(n)
		if at >= 0 {
			return r.expect(r.mark)
		}
	}
}

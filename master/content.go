package master

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// content is the reported data of a server. Records with equal data share one.
// It comes from a [Report], or as text that is parsed when a value is first
// read: most reports are replaced by the next one before that.
//
// Whether the next report differs is decided by a digest of the text: with many
// servers the last text has long left the processor's caches, and fetching it
// would cost more than everything else.
type content struct {
	read     atomic.Pointer[values] // nil until the text is parsed
	source   *Source                // parses the text
	digest   uint64                 // of the text
	expected Shape                  // names of the last parsed report of the server

	mu   sync.Mutex // held while the text is parsed
	text string     // guarded by mu; empty once it is parsed
}

// into makes c the content of a record.
func (c *content) into(s *Server) {
	s.Rules = Fields{c}
	s.Players = Table{content: c}
	s.Teams = Table{content: c, teams: true}
}

// values returns the reported values, which the first caller parses from the
// text.
func (c *content) values() *values {
	if v := c.read.Load(); v != nil {
		return v
	}
	return c.readText()
}

func (c *content) readText() *values {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.read.Load(); v != nil {
		return v
	}
	v := c.source.values(c.text, c.expected)
	c.text = "" // its memory is free for other reports
	c.read.Store(v)
	return v
}

// shape returns the names that the next report will probably have.
func (c *content) shape() Shape {
	if c == nil {
		return Shape{}
	}
	if v := c.read.Load(); v != nil {
		return Shape{v.rules.names, v.players.names, v.teams.names}
	}
	return c.expected
}

// Shape holds the names of the three sections of a report. Each may be nil.
type Shape struct{ Rules, Players, Teams *Names }

// Decoder parses reports of one protocol. It is called once per text, by the
// first reader of a record, from any goroutine.
type Decoder interface {
	// Decode fills an empty report from a text. expected are the names that the
	// server reported before, as a hint that saves work. Invalid text is left
	// out of the report. Decode may call Registry.Names and must not call other
	// methods of the registry.
	Decode(text string, expected Shape, into *Report)
}

// Source makes records from reports that are parsed later. It may be used
// concurrently.
type Source struct {
	decoder Decoder
	seed    maphash.Seed // secret, so that no client can make two texts look the same
	reports sync.Pool    // of *Report
}

// NewSource returns a Source whose texts d parses.
func NewSource(d Decoder) *Source {
	return &Source{decoder: d, seed: maphash.MakeSeed(), reports: sync.Pool{New: func() any { return new(Report) }}}
}

// Text is an unparsed report.
type Text struct {
	bytes  []byte // owned by the caller
	kept   string // instead of bytes, if not empty
	digest uint64
}

// Text returns a text that Same and Into take. It does not copy b.
func (src *Source) Text(b []byte) Text { return Text{bytes: b, digest: maphash.Bytes(src.seed, b)} }

// KeptText is Text of a string, which is kept and not copied.
func (src *Source) KeptText(s string) Text {
	return Text{kept: s, digest: maphash.String(src.seed, s)}
}

// text returns the text as a string that may be kept.
func (t *Text) text() string {
	if t.kept != "" {
		return t.kept
	}
	return string(t.bytes)
}

// Same reports whether the record was made from an identical text. It is false
// for a record made otherwise, even with equal values. Texts are compared by 64
// bits of a keyed hash.
func (src *Source) Same(s *Server, t Text) bool {
	c := s.Rules.content
	return c != nil && c.source == src && c.digest == t.digest
}

// Unread returns the text from which a Source made the record; ok is false if
// it has been parsed already, and for a record made from a Report.
func (s *Server) Unread() (text string, ok bool) {
	c := s.Rules.content
	if c == nil || c.source == nil {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text, c.read.Load() == nil
}

// Into puts a text into a record that is not listed yet, replacing its content.
// The text is copied and kept until it is parsed; the caller must bound its
// length.
func (src *Source) Into(s *Server, t Text) {
	c := &content{}
	src.fill(c, s, t)
	c.into(s)
}

// Next returns a copy of a record, not listed yet, into which it has put a text
// as Into does. Record and content share one piece of memory.
func (src *Source) Next(old *Server, t Text) *Server {
	next := &struct {
		Server
		content
	}{Server: *old}
	src.fill(&next.content, old, t)
	next.into(&next.Server)
	return &next.Server
}

func (src *Source) fill(c *content, old *Server, t Text) {
	c.source, c.digest, c.text = src, t.digest, t.text()
	c.expected = old.Rules.content.shape()
}

// values parses a text.
func (src *Source) values(text string, expected Shape) *values {
	r := src.reports.Get().(*Report)
	defer src.reports.Put(r)
	r.Reset()
	src.decoder.Decode(text, expected, r)
	v, err := r.values()
	if err != nil {
		return &values{} // a decoder must not fill a report so; there is no caller to report it to
	}
	return v
}

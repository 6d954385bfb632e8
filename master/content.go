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
	read   atomic.Pointer[values] // nil until the text is parsed
	source *Source                // parses the text
	digest uint64                 // of the text

	mu   sync.Mutex // held while the text is parsed
	text string     // guarded by mu; empty once it is parsed
}

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
	v := c.source.values(c)
	c.text = "" // its memory is free for other reports
	c.read.Store(v)
	return v
}

// Shape holds the names of the three sections of a report. Each may be nil.
type Shape struct{ Rules, Players, Teams *Names }

// Decoder parses reports of one protocol. It is called once per text, by the
// first reader of a record, from any goroutine.
type Decoder interface {
	// Decode fills an empty report from a text, which is valid during the call.
	// expected are the names that it probably has, as a hint that saves work. Invalid
	// text is left out of the report. Decode may call Registry.Names and must not call
	// other methods of the registry.
	Decode(text []byte, expected Shape, into *Report)
}

// Source makes records from reports that are parsed later. It may be used
// concurrently.
type Source struct {
	decoder Decoder
	seed    maphash.Seed          // secret, so that no client can make two texts look the same
	reports sync.Pool             // of *Report
	texts   sync.Pool             // of *[]byte
	last    atomic.Pointer[Shape] // names of the report parsed last; nil: none was
}

// NewSource returns a Source of records of the registry, whose texts d parses.
func (r *Registry) NewSource(d Decoder) *Source {
	return &Source{
		decoder: d,
		seed:    maphash.MakeSeed(),
		reports: sync.Pool{New: func() any { return new(Report) }},
		texts:   sync.Pool{New: func() any { return new([]byte) }},
	}
}

// Text is an unparsed report.
type Text struct {
	bytes  []byte // owned by the caller
	digest uint64
}

// Text returns a text that Same and Into take. It does not copy b.
func (src *Source) Text(b []byte) Text { return Text{bytes: b, digest: maphash.Bytes(src.seed, b)} }

// Same reports whether the record was made from an identical text. It is false
// for a record made otherwise, even with equal values. Texts are compared by 64
// bits of a keyed hash.
func (src *Source) Same(s *Server, t Text) bool {
	c := s.Rules.content
	return c != nil && c.source == src && c.digest == t.digest
}

// IsUnread reports whether a Source made the record from a text that has not been
// parsed yet.
func (s *Server) IsUnread() bool {
	c := s.Rules.content
	return c != nil && c.source != nil && c.read.Load() == nil
}

// AppendUnread appends the text from which a Source made the record to b; ok is false
// if it has been parsed already, and for a record made from a Report.
func (s *Server) AppendUnread(b []byte) (_ []byte, ok bool) {
	c := s.Rules.content
	if c == nil || c.source == nil {
		return b, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read.Load() != nil {
		return b, false
	}
	return append(b, c.text...), true
}

// Into puts a text into a record that is not listed yet, replacing its content.
// The text is copied and kept until it is parsed; the caller must bound its
// length.
func (src *Source) Into(s *Server, t Text) {
	c := &content{}
	src.fill(c, t)
	c.into(s)
}

// Next returns a copy of a record, not listed yet, into which it has put a text
// as Into does. Record and content share one piece of memory.
func (src *Source) Next(old *Server, t Text) *Server {
	next := &struct {
		Server
		content
	}{Server: *old}
	src.fill(&next.content, t)
	next.into(&next.Server)
	return &next.Server
}

func (src *Source) fill(c *content, t Text) {
	c.source, c.digest, c.text = src, t.digest, string(t.bytes)
}

// values parses the text of c, whose mu is held.
func (src *Source) values(c *content) *values {
	r := src.reports.Get().(*Report)
	defer src.reports.Put(r)
	memory := src.texts.Get().(*[]byte)
	defer src.texts.Put(memory)
	*memory = append((*memory)[:0], c.text...) // a Decoder takes bytes
	r.Reset()
	src.decoder.Decode(*memory, src.expected(), r)
	v, err := r.values()
	if err != nil {
		return &values{} // a decoder must not fill a report so; there is no caller to report it to
	}
	src.learn(v)
	return v
}

// expected returns the names that the next text probably has: lists read the reports of one
// game after the other.
func (src *Source) expected() Shape {
	if s := src.last.Load(); s != nil {
		return *s
	}
	return Shape{}
}

// learn makes the names of a parsed text expected of the next.
func (src *Source) learn(v *values) {
	s := Shape{v.rules.names, v.players.names, v.teams.names}
	if last := src.last.Load(); last == nil || *last != s {
		src.last.Store(new(s))
	}
}

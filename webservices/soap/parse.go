package soap

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a request.
const (
	MaxDepth    = 24      // of elements in each other, from the Envelope
	MaxElements = 20_000  // of a request
	MaxName     = 128     // bytes of the name of an element, with its prefix
	MaxBody     = 1 << 20 // bytes of a request, unless a Service has another bound
)

// Errors of Parse.
var (
	ErrSyntax   = errors.New("not the XML of a request")
	ErrDoctype  = errors.New("a request with a DOCTYPE")
	ErrTooDeep  = errors.New("too many elements in each other")
	ErrTooMany  = errors.New("too many elements")
	ErrNoMethod = errors.New("a request without a method")
)

// Parse returns the element of the method: the first child of the Body of an
// Envelope. The rest is not read. The result shares no memory with body.
func Parse(body []byte) (*Element, error) {
	p := parser{rest: bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))}
	if err := p.enter("Envelope"); err != nil {
		return nil, err
	}
	for {
		name, alone, err := p.open()
		switch {
		case err != nil:
			return nil, err
		case name == "Body" && alone:
			return nil, ErrNoMethod
		case name == "Body":
			return p.method()
		case alone:
		default: // a Header
			if _, err := p.element(name, 2); err != nil {
				return nil, err
			}
		}
	}
}

// parser reads one request. Its methods move rest on.
type parser struct {
	rest     []byte
	elements int
	text     []byte // of the element that is read
	bytes    []byte // the same with references as bytes
}

// enter reads the start of an element with a name.
func (p *parser) enter(want string) error {
	name, alone, err := p.open()
	if err == nil && (name != want || alone) {
		err = ErrNoMethod
	}
	return err
}

// method reads the first element of the Body.
func (p *parser) method() (*Element, error) {
	name, alone, err := p.open()
	if err != nil {
		return nil, err
	}
	if alone {
		return &Element{Name: name}, nil
	}
	return p.element(name, 3)
}

// open skips text and reads the start of an element. An end tag in its place is
// ErrNoMethod. alone reports that the element ends with its start.
func (p *parser) open() (name string, alone bool, err error) {
	for {
		i := bytes.IndexByte(p.rest, '<')
		if i < 0 {
			return "", false, ErrSyntax
		}
		p.rest = p.rest[i+1:]
		switch skipped, err := p.skip(); {
		case err != nil:
			return "", false, err
		case skipped:
		case len(p.rest) > 0 && p.rest[0] == '/':
			return "", false, ErrNoMethod
		default:
			return p.start()
		}
	}
}

// skip skips a processing instruction or a comment, whose < has been read. It
// reports whether there was one.
func (p *parser) skip() (bool, error) {
	switch {
	case bytes.HasPrefix(p.rest, []byte("?")):
		return true, p.past("?>")
	case bytes.HasPrefix(p.rest, []byte("!--")):
		return true, p.past("-->")
	case bytes.HasPrefix(p.rest, []byte("!")) && !bytes.HasPrefix(p.rest, []byte(cdata)):
		return true, ErrDoctype
	}
	return false, nil
}

// past moves behind the next occurrence of a text.
func (p *parser) past(end string) error {
	i := bytes.Index(p.rest, []byte(end))
	if i < 0 {
		return ErrSyntax
	}
	p.rest = p.rest[i+len(end):]
	return nil
}

// start reads the name of an element, whose < has been read, and skips its
// attributes.
func (p *parser) start() (name string, alone bool, err error) {
	if p.elements++; p.elements > MaxElements {
		return "", false, ErrTooMany
	}
	n := nameLen(p.rest)
	if n == 0 || n > MaxName {
		return "", false, ErrSyntax
	}
	name = local(p.rest[:n])
	p.rest = p.rest[n:]
	if name == "" {
		return "", false, ErrSyntax
	}
	var quote byte
	for i, c := range p.rest {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '<':
			return "", false, ErrSyntax
		case c == '>':
			alone = i > 0 && p.rest[i-1] == '/'
			p.rest = p.rest[i+1:]
			return name, alone, nil
		}
	}
	return "", false, ErrSyntax
}

// nameLen returns the length of the name at the start of b.
func nameLen(b []byte) int {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n', '/', '>', '<', '=', '"', '\'', '&', 0:
			return i
		}
	}
	return len(b)
}

// local returns a name without its prefix, as valid UTF-8.
func local(name []byte) string {
	if i := bytes.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	return strings.ToValidUTF8(string(name), "\ufffd")
}

// cdata begins a section of text, behind its <.
const cdata = "![CDATA["

func (p *parser) element(name string, depth int) (*Element, error) {
	if depth > MaxDepth {
		return nil, ErrTooDeep
	}
	e := &Element{Name: name}
	p.text, p.bytes = p.text[:0], p.bytes[:0]
	for {
		i := bytes.IndexByte(p.rest, '<')
		if i < 0 {
			return nil, ErrSyntax
		}
		if len(e.Children) == 0 {
			p.unescape(p.rest[:i])
		}
		p.rest = p.rest[i+1:]
		switch skipped, err := p.skip(); {
		case err != nil:
			return nil, err
		case skipped:
		case bytes.HasPrefix(p.rest, []byte(cdata)):
			if err := p.section(); err != nil {
				return nil, err
			}
		case len(p.rest) > 0 && p.rest[0] == '/':
			return e, p.end(e)
		default:
			child, err := p.child(depth)
			if err != nil {
				return nil, err
			}
			e.Children = append(e.Children, child)
		}
	}
}

// child reads an element in another one.
func (p *parser) child(depth int) (*Element, error) {
	name, alone, err := p.start()
	if err != nil {
		return nil, err
	}
	if alone {
		return &Element{Name: name}, nil
	}
	return p.element(name, depth+1)
}

func (p *parser) section() error {
	before := p.rest[len(cdata):]
	if err := p.past("]]>"); err != nil {
		return err
	}
	text := before[:len(before)-len(p.rest)-len("]]>")]
	p.text, p.bytes = append(p.text, text...), append(p.bytes, text...)
	return nil
}

// end reads the end of e, whose < has been read.
func (p *parser) end(e *Element) error {
	n := nameLen(p.rest[1:])
	if n > MaxName || local(p.rest[1:1+n]) != e.Name {
		return ErrSyntax
	}
	if err := p.past(">"); err != nil {
		return err
	}
	if len(e.Children) == 0 {
		e.Value = p.value()
	}
	return nil
}

// value returns the text of the element that was read last: its references as
// bytes if that is valid UTF-8, else as characters; see the package.
func (p *parser) value() string {
	switch {
	case utf8.Valid(p.bytes):
		return string(p.bytes)
	case utf8.Valid(p.text):
		return string(p.text)
	}
	var out strings.Builder
	for _, c := range p.bytes { // Latin-1
		out.WriteRune(rune(c))
	}
	return out.String()
}

// unescape appends a text to p.text and p.bytes.
func (p *parser) unescape(text []byte) {
	for {
		i := bytes.IndexByte(text, '&')
		if i < 0 {
			p.text, p.bytes = append(p.text, text...), append(p.bytes, text...)
			return
		}
		p.text, p.bytes = append(p.text, text[:i]...), append(p.bytes, text[:i]...)
		r, n := reference(text[i:])
		text = text[i+n:]
		p.text = utf8.AppendRune(p.text, r)
		if r <= 0xff {
			p.bytes = append(p.bytes, byte(r))
		} else {
			p.bytes = utf8.AppendRune(p.bytes, r)
		}
	}
}

// maxReference is the length of the longest reference, such as &#x10FFFF; with
// some zeros.
const maxReference = 16

// reference returns the character of the reference at the start of b, which is
// an &, and the length of the reference. An & that begins none stands for itself.
func reference(b []byte) (r rune, n int) {
	end := bytes.IndexByte(b[:min(len(b), maxReference)], ';')
	if end < 0 {
		return '&', 1
	}
	switch name := string(b[1:end]); name {
	case "amp":
		return '&', end + 1
	case "lt":
		return '<', end + 1
	case "gt":
		return '>', end + 1
	case "quot":
		return '"', end + 1
	case "apos":
		return '\'', end + 1
	default:
		digits, numeric := strings.CutPrefix(name, "#")
		if !numeric {
			return '&', 1
		}
		base := 10
		if hex := strings.TrimLeft(digits, "xX"); len(hex)+1 == len(digits) {
			digits, base = hex, 16
		}
		v, err := strconv.ParseUint(digits, base, 31)
		if err != nil {
			return '&', 1
		}
		if !utf8.ValidRune(rune(v)) {
			return utf8.RuneError, end + 1
		}
		return rune(v), end + 1
	}
}

// Element is an element of a request: a text or children.
type Element struct {
	Name     string // without the prefix of its namespace
	Value    string // valid UTF-8; empty if there are children
	Children []*Element
}

// Child returns the first child with a name, nil if there is none. It may be
// called on nil.
func (e *Element) Child(name string) *Element {
	if e == nil {
		return nil
	}
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Text returns the text of the first child with a name, "" if there is none.
func (e *Element) Text(name string) string {
	if c := e.Child(name); c != nil {
		return c.Value
	}
	return ""
}

// Int returns the number of the first child with a name. ok is false if there is
// no such child or its text is not a number of 64 bits.
func (e *Element) Int(name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(e.Text(name), 10, 64)
	return n, err == nil
}

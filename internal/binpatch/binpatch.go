// Package binpatch replaces texts in the programs of games: the domain under which a
// game looks for its services, and the modulus of the key of its web services. It
// keeps the length of every file, a copy of it, and a record by which the change can
// be undone.
//
// It knows no copy protection and takes none away: packed and signed programs are
// refused, because changed ones would not start.
package binpatch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of a file.
const (
	// MaxSize is the length of the longest file that is searched, in bytes.
	MaxSize = 1 << 30
	// MaxPlaces is the maximum number of places in a file. No game has a tenth of it.
	MaxPlaces = 4096
	// maxText is the length of the longest text around a place, in characters.
	maxText = 512
	// chunk is how much of a file is searched at a time, in bytes.
	chunk = 1 << 20
)

// Errors of a search.
var (
	ErrTooLarge      = errors.New("the file is larger than 1 GiB")
	ErrTooManyPlaces = errors.New("the file has more than 4,096 places: it is not the program of a game")
)

// Width is the length of a character of a text in bytes.
type Width int

// The widths.
const (
	ASCII Width = 1
	UTF16 Width = 2 // little-endian
)

// String names the width.
func (w Width) String() string {
	if w == UTF16 {
		return "UTF-16"
	}
	return "ASCII"
}

// Place is where a text that is looked for stands in a file.
type Place struct {
	Offset int64  // of Text, in bytes
	Width  Width  // of its characters
	Text   string // all of the text around, up to the first character that is not visible
	At     []int  // where in Text it begins, in characters; it may be there more than once
	// Why says why the place is left as it is; empty: it is replaced.
	Why string
}

// Replacement is a text and its replacement.
type Replacement struct {
	Old, New string
	Exact    bool // of the same length only, and with regard to case
	// HTTP makes an address that begins with https:// one of http://. If Old and New are
	// equal, only such addresses are places.
	HTTP bool
}

// Check returns an error for a replacement that fits no place.
func (r Replacement) Check() error {
	switch {
	case r.Old == "" || r.New == "" || len(r.Old) > maxText:
		return errors.New("there is nothing to replace, or to replace it by")
	case r.Exact && len(r.New) != len(r.Old):
		return fmt.Errorf("the new text has %d characters, want %d", len(r.New), len(r.Old))
	}
	for _, c := range []byte(r.New) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("%q has characters that are not visible ASCII", r.New)
		}
	}
	return nil
}

// Find returns the places of r.Old in a file of so many bytes, in their order.
func (r Replacement) Find(file io.ReaderAt, size int64) ([]Place, error) {
	if size > MaxSize {
		return nil, ErrTooLarge
	}
	var places []Place
	// A text may lie across the end of a chunk: the next one begins a text earlier.
	const overlap = 2 * int64(UTF16) * maxText
	buf := make([]byte, chunk+2*overlap)
	for from := int64(0); from < size; from += chunk {
		begin := max(0, from-overlap)
		n, err := file.ReadAt(buf[:min(int64(len(buf)), size-begin)], begin)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		own := window{data: buf[:n], begin: begin, from: from, to: from + chunk}
		for _, w := range []Width{ASCII, UTF16} {
			places = r.in(own, w, places)
			if len(places) > MaxPlaces {
				return nil, ErrTooManyPlaces
			}
		}
	}
	if r.Old == r.New {
		places = slices.DeleteFunc(places, func(p Place) bool { return !r.insecure(p) })
	}
	return apart(places), nil
}

// insecure reports whether the address at a place is to begin with http:// in place of https://.
func (r Replacement) insecure(p Place) bool {
	return r.HTTP && strings.HasPrefix(ascii.ToLower(p.Text), secure)
}

const secure = "https://"

// apart sorts places, and leaves those as they are that share bytes with an earlier one.
func apart(places []Place) []Place {
	slices.SortStableFunc(places, func(a, b Place) int { return cmp.Compare(a.Offset, b.Offset) })
	end := int64(0)
	for i := range places {
		p := &places[i]
		if p.Offset < end {
			p.Why = cmp.Or(p.Why, "it shares bytes with the place before")
		}
		end = max(end, p.Offset+int64(len(p.Text)*int(p.Width)))
	}
	return places
}

// window is a part of a file. Places are those whose text to replace begins in
// from..to.
type window struct {
	data            []byte
	begin, from, to int64
}

func (r Replacement) in(win window, w Width, places []Place) []Place {
	first := []byte{r.Old[0]}
	if !r.Exact {
		first = []byte(strings.ToLower(r.Old[:1]) + strings.ToUpper(r.Old[:1]))
	}
	for i := 0; ; i++ {
		n := bytes.IndexAny(win.data[i:], string(first))
		if n < 0 {
			return places
		}
		i += n
		at := win.begin + int64(i)
		if at < win.from || at >= win.to || !r.matches(win.data[i:], w) {
			continue
		}
		places = r.add(places, around(win, i, w, len(r.Old)))
		i += len(r.Old)*int(w) - 1
	}
}

// add appends a place, or adds it to one with the same text.
func (r Replacement) add(places []Place, p Place) []Place {
	why := r.objection(p)
	if i := slices.IndexFunc(places, func(o Place) bool { return o.Offset == p.Offset && o.Width == p.Width }); i >= 0 {
		places[i].At = append(places[i].At, p.At...)
		places[i].Why = cmp.Or(places[i].Why, why)
		return places
	}
	p.Why = why
	return append(places, p)
}

// matches reports whether data begins with the text to replace.
func (r Replacement) matches(data []byte, w Width) bool {
	if len(data) < len(r.Old)*int(w) {
		return false
	}
	for i := range len(r.Old) {
		c := data[i*int(w)]
		if !r.Exact {
			c = ascii.Lower(c)
		}
		want := r.Old[i]
		if !r.Exact {
			want = ascii.Lower(want)
		}
		if c != want || w == UTF16 && data[i*int(w)+1] != 0 {
			return false
		}
	}
	return true
}

func around(win window, i int, w Width, length int) Place {
	visible := func(at int) bool {
		return at >= 0 && at+int(w) <= len(win.data) && win.data[at] >= ' ' && win.data[at] <= '~' && (w == ASCII || win.data[at+1] == 0)
	}
	// The last character of an ASCII text looks like one of UTF-16, with the NUL behind it.
	endsASCII := func(at int) bool {
		return w == UTF16 && at > 0 && win.data[at-1] >= ' ' && win.data[at-1] <= '~'
	}
	begin, end := i, i+length*int(w)
	for (i-begin)/int(w) < maxText && visible(begin-int(w)) && !endsASCII(begin-int(w)) {
		begin -= int(w)
	}
	for (end-i)/int(w) < maxText && visible(end) {
		end += int(w)
	}
	text := make([]byte, 0, (end-begin)/int(w))
	for at := begin; at < end; at += int(w) {
		text = append(text, win.data[at])
	}
	return Place{Offset: win.begin + int64(begin), Width: w, Text: string(text), At: []int{(i - begin) / int(w)}}
}

// objection says why a place with one text cannot be replaced; empty: it can.
func (r Replacement) objection(p Place) string {
	if r.Exact {
		return ""
	}
	before, behind := p.Text[:p.At[0]], p.Text[p.At[0]+len(r.Old):]
	switch {
	case len(r.New) > len(r.Old):
		return fmt.Sprintf("the new name has %d characters, and there is room for %d", len(r.New), len(r.Old))
	case strings.Contains(p.Text, " "):
		return "a sentence, not a host name"
	case before != "" && hostByte(before[len(before)-1]) && before[len(before)-1] != '.':
		return "part of a longer name"
	case behind != "" && (hostByte(behind[0]) && behind[0] != '.' || len(behind) > 1 && behind[0] == '.' && hostByte(behind[1])):
		return "part of a longer name"
	case (len(r.New) < len(r.Old) || r.insecure(p)) && len(p.Text) >= maxText:
		return "the text around it is too long to be moved"
	}
	return ""
}

// hostByte reports whether a host name may have a character.
func hostByte(c byte) bool {
	c = ascii.Lower(c)
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_'
}

// Bytes returns the bytes at the offset of a place, before and after the replacement.
// Both have the same length: behind a shorter text the rest moves up, and NULs follow.
func (r Replacement) Bytes(p Place) (before, after []byte) {
	var text []byte
	end := 0
	for _, at := range p.At {
		text = append(append(text, p.Text[end:at]...), r.New...)
		end = at + len(r.Old)
	}
	text = append(text, p.Text[end:]...)
	if s := len(secure) - len("://"); r.insecure(p) {
		text = slices.Delete(text, s-1, s)
	}
	text = append(text, make([]byte, len(p.Text)-len(text))...)
	return p.Width.spread([]byte(p.Text)), p.Width.spread(text)
}

func (w Width) spread(text []byte) []byte {
	if w == ASCII {
		return text
	}
	out := make([]byte, 0, int(w)*len(text))
	for _, c := range text {
		out = append(out, c, 0)
	}
	return out
}

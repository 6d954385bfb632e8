package soap

import (
	"strconv"
	"unicode/utf8"
)

// Writer writes the content of a reply. The order of the calls is that of the
// elements, which clients rely on; see the package. Names are constants of the
// program and are not escaped.
type Writer struct {
	b    []byte
	open []string
}

// Open begins an element.
func (w *Writer) Open(name string) {
	w.open = append(w.open, name)
	w.b = append(append(append(w.b, '<'), name...), '>')
}

// Close ends the element that was opened last.
func (w *Writer) Close() {
	last := len(w.open) - 1
	w.end(w.open[last])
	w.open = w.open[:last]
}

// Text writes an element with a text.
func (w *Writer) Text(name, value string) {
	w.b = append(append(append(w.b, '<'), name...), '>')
	w.b = appendEscaped(w.b, value)
	w.end(name)
}

// Int writes an element with a number.
func (w *Writer) Int(name string, n int64) {
	w.b = append(append(append(w.b, '<'), name...), '>')
	w.b = strconv.AppendInt(w.b, n, 10)
	w.end(name)
}

// Raw writes text that is XML already.
func (w *Writer) Raw(text string) { w.b = append(w.b, text...) }

// Add appends the output of another Writer.
func (w *Writer) Add(other *Writer) { w.b = append(w.b, other.b...) }

// Len returns the number of bytes written.
func (w *Writer) Len() int { return len(w.b) }

func (w *Writer) end(name string) {
	w.b = append(append(append(w.b, "</"...), name...), '>')
}

// appendEscaped appends a text as clients can read it. Bytes that are not valid
// UTF-8 and control characters become one reference each; a zero, which would
// end the text in the client, is left out.
func appendEscaped(b []byte, text string) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '"':
			b = append(b, "&quot;"...)
		case r == '\'':
			b = append(b, "&apos;"...)
		case r == 0:
		case r < ' ' || r == utf8.RuneError && n == 1:
			b = append(b, "&#x"...)
			b = strconv.AppendUint(b, uint64(text[i]), 16)
			b = append(b, ';')
		default:
			b = append(b, text[i:i+n]...)
		}
		i += n
	}
	return b
}

// ContentType is the one of replies.
const ContentType = "text/xml; charset=utf-8"

// head begins every reply.
const head = `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"` +
	` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><soap:Body>`

// tail ends every reply.
const tail = `</soap:Body></soap:Envelope>`

// Reply returns the reply to a method: fill writes the content of its Response element.
func Reply(method, namespace string, fill func(*Writer)) []byte {
	w := Writer{b: make([]byte, 0, 1<<11)}
	w.Raw(head)
	w.b = append(append(append(w.b, '<'), method...), `Response xmlns="`...)
	w.b = append(append(w.b, namespace...), `">`...)
	fill(&w)
	w.b = append(append(append(w.b, "</"...), method...), "Response>"...)
	w.Raw(tail)
	return w.b
}

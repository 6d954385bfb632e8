package dialogue

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// secretHeaders are fields of the header that identify a player.
var secretHeaders = []string{"authorization", "cookie", "set-cookie", "proxy-authorization", "x-forwarded-for", "forwarded", "sessticket", "userid"}

// HTTP is the Protocol of web services. The secret names are those of elements of XML, and of
// parameters in addresses and forms, in lower case.
func HTTP(secret ...string) Protocol {
	return Protocol{
		Blot: func(b []byte) {
			head, body := cutHead(b)
			blotHead(head)
			blotParameters(head, secret)
			blotParameters(body, secret)
			blotElements(body, secret)
		},
		Shape: httpShape,
	}
}

// cutHead returns the lines of the header, and the rest.
func cutHead(b []byte) (head, body []byte) {
	if end := bytes.Index(b, []byte("\r\n\r\n")); end >= 0 {
		return b[:end+2], b[end+4:]
	}
	return b, nil
}

func blotHead(head []byte) {
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && contains(secretHeaders, name) {
			Overwrite(value)
		}
	}
}

// parameter matches a parameter of an address or of a form.
var parameter = regexp.MustCompile(`(?:^|[?&\s])([\w.%-]+)=([^&\s<>"]*)`)

func blotParameters(b []byte, secret []string) {
	for _, at := range parameter.FindAllSubmatchIndex(b, -1) {
		if contains(secret, b[at[2]:at[3]]) {
			Overwrite(b[at[4]:at[5]])
		}
	}
}

// element matches the start of an element of XML and the text in it.
var element = regexp.MustCompile(`<(?:[\w.-]+:)?([\w.-]+)(?:\s[^<>]*)?>([^<]*)`)

// blotElements overwrites the texts of secret elements and of those in them.
func blotElements(b []byte, secret []string) {
	for _, at := range element.FindAllSubmatchIndex(b, -1) {
		name := b[at[2]:at[3]]
		if !contains(secret, name) {
			continue
		}
		inside := b[at[4]:]
		if end := bytes.Index(inside, append(bytes.Clone(name), '>')); end >= 0 {
			inside = inside[:end]
		}
		tag := false
		for i, c := range inside {
			switch {
			case c == '<' || c == '>':
				tag = c == '<'
			case !tag:
				inside[i] = '*'
			}
		}
	}
}

// httpShape returns the status of an answer and the names of its elements, each once.
func httpShape(b []byte) string {
	head, body := cutHead(b)
	status, _, _ := strings.Cut(string(head), "\r\n")
	shape := []string{status}
	for _, m := range element.FindAllSubmatch(body, -1) {
		if name := string(m[1]); !slices.Contains(shape, name) {
			shape = append(shape, name)
		}
	}
	return strings.Join(shape, " ")
}

package nas

import (
	"encoding/binary"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/webservices/soap"
)

// maxWords is the number of words that one request may ask for.
const maxWords = 256

// regions are those for which /pr has an answer of their own.
const regions = "ACEJKP"

// pr answers a request for /pr: all words are good.
func (r *Backend) pr(w http.ResponseWriter, _ *http.Request, q *soap.Request, f Form) {
	n, ok := countWords(f)
	if !ok {
		r.done(requestWords, resultBadField)
		r.note(q, verdicts.MalformedRequest, "/pr: words")
		answer(w, reply(codeBadField, "0"))
		return
	}
	r.done(requestWords, resultOK)
	good := []byte(strings.Repeat("0", n))
	out := append(reply("000", "0"), Field{"prwords", good})
	for i := range len(regions) {
		out = append(out, Field{"prwords" + regions[i:i+1], good})
	}
	answer(w, out)
}

func countWords(f Form) (n int, ok bool) {
	words := f.Value("words")
	text := string(words)
	var err error
	switch encoding := strings.ToUpper(string(f.Value("wenc"))); encoding {
	case "UTF-8":
		if !utf8.ValidString(text) {
			return 0, false
		}
	case "UTF-16LE":
		text, err = decodeUTF16(words, binary.LittleEndian)
	case "UTF-16BE":
		text, err = decodeUTF16(words, binary.BigEndian)
	case "":
		text, err = decodeUTF16(words, orderOf(string(f.Value("unitcd")) != "0"))
	default:
		return 0, false
	}
	n = 1 + strings.Count(text, "\t")
	return n, err == nil && text != "" && n <= maxWords
}

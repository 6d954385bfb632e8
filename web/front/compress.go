package front

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// minZip is the size in bytes from which an answer is worth compressing.
const minZip = 2 << 10

// zipped is the question for the compressed form of the answer to another one.
type zipped struct{ question any }

// Reply sends the answer to a question from a cache, which write writes if it
// is not there. It is compressed once for all clients that accept that.
// Visitors from our own networks get it uncompressed: there the network is
// faster than gzip.
func (f *Front) Reply(w http.ResponseWriter, r *http.Request, contentType string, cache *Cache, question any, write func() []byte) {
	a := f.Answer(cache, question, write)
	w.Header().Add("Vary", "Accept-Encoding")
	if len(a.body) >= minZip && AcceptsGzip(r) && !IsNear(f.Visitor(r)) {
		w.Header().Set("Content-Encoding", "gzip")
		a = f.Answer(cache, zipped{question}, func() []byte { return f.zipper.zip(a.body) })
	}
	f.Send(w, r, contentType, a)
}

// ReplyTagged is Reply for an answer whose tag comes from its text.
func (f *Front) ReplyTagged(w http.ResponseWriter, r *http.Request, contentType string, cache *Cache, question any, write func() []byte) {
	a := f.Answer(cache, question, write)
	if !NotModified(w, r, a.tag()) {
		f.Reply(w, r, contentType, cache, question, func() []byte { return a.body })
	}
}

// zipper compresses for speed. Its writers are used again: a new one takes a
// megabyte, which is more work than to compress a page.
type zipper struct{ writers sync.Pool } // of *gzip.Writer

func newZipper() *zipper {
	return &zipper{sync.Pool{New: func() any {
		w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is a good one
		}
		return w
	}}}
}

func (z *zipper) zip(body []byte) []byte {
	w := z.writers.Get().(*gzip.Writer)
	defer z.writers.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	if _, err := w.Write(body); err != nil {
		panic(err) // a buffer takes everything
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	w.Reset(nil) // the written data must not be kept with it
	return b.Bytes()
}

// AcceptsGzip reports whether a client takes answers that gzip compressed.
func AcceptsGzip(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept-Encoding") {
		for entry := range strings.SplitSeq(line, ",") {
			name, weight, weighted := strings.Cut(entry, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			if !weighted {
				return true
			}
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return err == nil && q > 0
		}
	}
	return false
}

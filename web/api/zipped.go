package api

import (
	"bytes"
	"compress/flate"
	"sync"

	"github.com/respawnd/respawnd/internal/advertise"
)

// gzipHead begins a compressed stream: one of gzip (RFC 1952), without a name and a time. Its
// blocks (RFC 1951) all end at a byte and refer to nothing before the events that were written
// together, so that data for many streams is compressed once. A stream ends without gzip's
// trailer, because its checksum would have to be computed for each stream.
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// deflaters are used again: a new one takes a megabyte, which is more work than to
// compress some events.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a good one
	}
	return w
}}

// deflate returns text as compressed blocks; none if it is empty.
func deflate(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	_, err := w.Write(text)
	if err == nil {
		err = w.Flush() // ends at a byte, and a reader gets all
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	w.Reset(nil) // the written data must not be kept with it
	return b.Bytes()
}

// form identifies the representation of a batch for streams.
type form struct {
	text   []byte
	zip    sync.Once
	zipped []byte
}

// bytes returns the text, compressed if that is asked for.
func (f *form) bytes(zipped bool) []byte {
	if !zipped {
		return f.text
	}
	f.zip.Do(func() { f.zipped = deflate(f.text) })
	return f.zipped
}

// asked holds the parameters that the form of a batch depends on.
type asked struct {
	game  string
	asker advertise.Asker // zero if the text is the same for all
}

// maxForms is the number of forms of a batch that are kept: visitors of one game, from
// one kind of network, share one.
const maxForms = 16

// forms are those of a batch.
type forms struct {
	mu   sync.Mutex // guards the fields below
	kept map[asked]*form
	size int // of the texts
}

// get returns the form for a question, which write writes if it is not there.
func (f *forms) get(q asked, write func() []byte) *form {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.kept[q]; one != nil {
		return one
	}
	one := &form{text: write()}
	if len(f.kept) < maxForms {
		if f.kept == nil {
			f.kept = make(map[asked]*form)
		}
		f.kept[q] = one
		f.size += len(one.text)
	}
	return one
}

// bytes returns the size of the texts.
func (f *forms) bytes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size
}

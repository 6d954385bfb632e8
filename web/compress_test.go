package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
)

func TestCompression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Fill(100)
		const target, far, near = "/api/v1/servers", "198.51.100.1:1", "192.168.1.5:1"
		plain := f.Ask(near, target, "Accept-Encoding", "gzip")
		built := f.Count("respawnd_web_answers_built_total")
		for range 3 {
			w := f.Ask(far, target, "Accept-Encoding", "br, gzip;q=0.5")
			if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) || w.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("GET with gzip: headers %v, %d bytes", w.Header(), w.Body.Len())
			}
			if w.Header().Get("ETag") != plain.Header().Get("ETag") {
				t.Errorf("the weak tags of both forms differ: %s, %s", w.Header().Get("ETag"), plain.Header().Get("ETag"))
			}
			if w.Body.Len() > plain.Body.Len()/4 {
				t.Errorf("%d bytes became %d", plain.Body.Len(), w.Body.Len())
			}
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatalf("gzip: %v", err)
			}
			if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, plain.Body.Bytes()) {
				t.Errorf("the compressed answer is another one: %v", err)
			}
		}
		if got := f.Count("respawnd_web_answers_built_total"); got != built+1 {
			t.Errorf("three compressed answers: %v were written, want 1", got-built)
		}
		for name, w := range map[string]http.Header{
			"no Accept-Encoding":  f.Ask(far, target).Header(),
			"refused":             f.Ask(far, target, "Accept-Encoding", "gzip;q=0").Header(),
			"other forms":         f.Ask(far, target, "Accept-Encoding", "br, deflate").Header(),
			"our own network":     plain.Header(),
			"not worth it":        f.Ask(far, "/api/v1/servers?limit=1", "Accept-Encoding", "gzip").Header(),
			"nothing to compress": f.Ask(far, target, "Accept-Encoding", "gzip", "If-None-Match", "*").Header(),
		} {
			if got := w.Get("Content-Encoding"); got != "" {
				t.Errorf("%s: Content-Encoding %q, want none", name, got)
			}
		}
	})
}

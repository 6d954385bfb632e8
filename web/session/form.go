package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
)

// ReadForm reads the form of a request, of up to limit bytes, into r.PostForm, and
// the files that come with it into memory. It returns the status with which to
// refuse a form that is too large or cannot be read, else 0.
func ReadForm(w http.ResponseWriter, r *http.Request, limit int64) (status int) {
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	err := r.ParseForm()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == "multipart/form-data" {
		err = readFiles(r, limit)
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return http.StatusRequestEntityTooLarge
	}
	if err != nil {
		return http.StatusBadRequest
	}
	return 0
}

// readFiles reads a form with files, of which limit bytes are held in memory.
func readFiles(r *http.Request, limit int64) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	if r.MultipartForm, err = parts.ReadForm(limit); err != nil {
		return err
	}
	r.PostForm = r.MultipartForm.Value
	return nil
}

// Forms binds forms to the browser that they were sent to, by a cookie of that
// browser. It stores only its key, which is new at every start.
type Forms struct{ key [sha256.Size]byte }

// NewForms returns Forms with a new key.
func NewForms() *Forms {
	f := new(Forms)
	_, _ = rand.Read(f.key[:]) // never fails
	return f
}

// Token returns the form token for the browser with a cookie: a keyed hash of
// the cookie, which no other page can know.
func (f *Forms) Token(cookie string) string {
	h := hmac.New(sha256.New, f.key[:])
	_, _ = h.Write([]byte(cookie)) // never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Valid reports whether a form with a token was made for the browser with a
// cookie. It takes the same time for every token of the right length.
func (f *Forms) Valid(cookie, token string) bool {
	return cookie != "" && hmac.Equal([]byte(token), []byte(f.Token(cookie)))
}

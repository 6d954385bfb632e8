package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"
)

// maxCookie is the length of the longest value that is read from a cookie.
const maxCookie = 128

// Cookie is a cookie of the whole host that scripts cannot read and that browsers
// do not send along with requests from other sites.
type Cookie struct {
	Name   string
	Secure bool          // it is sent over HTTPS only
	Life   time.Duration // 0: as long as the browser runs
}

// Set sends the cookie with a value.
func (c Cookie) Set(w http.ResponseWriter, value string) { c.send(w, value, int(c.Life/time.Second)) }

// Delete makes the browser forget the cookie.
func (c Cookie) Delete(w http.ResponseWriter) { c.send(w, "", -1) }

func (c Cookie) send(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // over plain HTTP a browser does not send a Secure cookie back
		Name: c.Name, Value: value, Path: "/", MaxAge: maxAge,
		Secure: c.Secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// Value returns the value that came with a request, empty if there is none or it
// is too long to be one of ours.
func (c Cookie) Value(r *http.Request) string {
	got, err := r.Cookie(c.Name)
	if err != nil || len(got.Value) > maxCookie {
		return ""
	}
	return got.Value
}

// Forms ties forms to the browser that they were sent to, by a cookie of that
// browser. It keeps nothing but its key, which is of this process alone.
type Forms struct{ key [sha256.Size]byte }

// NewForms returns Forms with a new key.
func NewForms() *Forms {
	f := new(Forms)
	_, _ = rand.Read(f.key[:]) // never fails
	return f
}

// Token returns what a form has to carry for the browser with a cookie: a keyed
// hash of it, so that no other page can know it.
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

package session

import (
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

// Value returns the value that came with a request, empty if there is none or
// it is too long to be a valid one.
func (c Cookie) Value(r *http.Request) string {
	got, err := r.Cookie(c.Name)
	if err != nil || len(got.Value) > maxCookie {
		return ""
	}
	return got.Value
}

package page

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/lang"
)

const (
	languageCookie = "respawnd-language"
	languageField  = "language="
	languageLife   = 365 * 24 * time.Hour
	maxChoice      = 32 // bytes of the form that chooses a language
	languageVary   = "Accept-Language, Cookie"
)

// Language returns the language for a visitor: the chosen one, or the first that the browser
// prefers. The answer is marked as one that depends on it.
func (s *Site) Language(w http.ResponseWriter, r *http.Request) *lang.Language {
	if !slices.Contains(w.Header().Values("Vary"), languageVary) {
		w.Header().Add("Vary", languageVary)
	}
	chosen := ""
	if c, err := r.Cookie(languageCookie); err == nil {
		chosen = c.Value
	}
	return lang.Choose(chosen, r.Header.Get("Accept-Language"))
}

// Choose answers the form that chooses a language: it sets a cookie and sends the visitor back to
// the page. The form is on every page and is sent to the address of the page. Choose returns false
// for any other request, whose body stays as it is.
func (s *Site) Choose(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost || r.ContentLength < 0 || r.ContentLength > maxChoice || s.origins.Check(r) != nil {
		return false
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxChoice)) // a part of it is no choice
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	tag, ok := strings.CutPrefix(string(body), languageField)
	if !ok || lang.Find(tag) == nil {
		return false
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // over plain HTTP a browser does not send a Secure cookie back
		Name: languageCookie, Value: tag, Path: "/", MaxAge: int(languageLife / time.Second),
		Secure: strings.HasPrefix(s.origin, "https:"), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	to := s.base + "/" + strings.TrimLeft(r.URL.EscapedPath(), "/") // two slashes would be another host
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return true
}

// Languages returns those that a visitor can choose for the page, none if there is one.
func (f Frame) Languages() []*lang.Language {
	if f.Lang == nil {
		return nil
	}
	return lang.All()
}

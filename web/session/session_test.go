package session

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	idle = 2 * time.Hour
	life = 24 * time.Hour
)

type table = Table[int, int]

func newTable(most, perOwner int) *table {
	return NewTable[int, int](Options{Max: most, PerOwner: perOwner, Idle: idle, Life: life})
}

func TestTable(t *testing.T) {
	now := time.Now()
	t.Run("bound of an owner", func(t *testing.T) {
		s := newTable(10, 3)
		var tokens []string
		for i := range 4 {
			tokens = append(tokens, s.Open(1, now.Add(time.Duration(i)), nil))
			s.Find(tokens[0], now.Add(time.Duration(i))) // the first stays in use
		}
		if s.Find(tokens[0], now) == nil || s.Find(tokens[1], now) != nil || s.Len() != 3 {
			t.Errorf("%d sessions, want 3 without the one that rested longest", s.Len())
		}
	})
	t.Run("bound of all", func(t *testing.T) {
		s := newTable(3, 0)
		var tokens []string
		for i := range 4 {
			tokens = append(tokens, s.Open(i, now, nil))
		}
		if s.Find(tokens[0], now) != nil || s.Find(tokens[1], now) == nil || s.Len() != 3 {
			t.Errorf("%d sessions, want 3 without the oldest", s.Len())
		}
	})
	t.Run("ended ones make room", func(t *testing.T) {
		s := newTable(3, 0)
		s.Open(1, now, nil)
		s.Open(2, now.Add(idle), nil)
		if s.Len() != 1 {
			t.Errorf("%d sessions, want 1", s.Len())
		}
	})
	t.Run("data", func(t *testing.T) {
		s := newTable(3, 0)
		s.Open(2, now, func(data *int, _ *Session[int, int]) { *data = 40 })
		for i := range 2 {
			token := s.Open(1, now, func(data *int, another *Session[int, int]) {
				if *data = 7; another != nil {
					*data = another.Data + 1
				}
			})
			if got := s.Find(token, now); got == nil || got.Owner != 1 || got.Data != 7+i {
				t.Errorf("session %d: got %+v, want data %d", i, got, 7+i)
			}
		}
	})
	t.Run("end", func(t *testing.T) {
		s := newTable(3, 0)
		token := s.Open(1, now, nil)
		one := s.Find(token, now)
		if !s.Alive(one, now) {
			t.Error("an open session is not alive")
		}
		s.End(one)
		s.End(one)
		if s.Find(token, now) != nil || s.Alive(one, now) || s.Len() != 0 {
			t.Error("the session is still there")
		}
	})
	t.Run("foreign tokens", func(t *testing.T) {
		s := newTable(3, 0)
		s.Open(1, now, nil)
		for _, token := range []string{"", "x", NewToken()} {
			if s.Find(token, now) != nil {
				t.Errorf("token %q has a session", token)
			}
		}
	})
}

func TestTableTimes(t *testing.T) {
	var hours []time.Duration
	for at := time.Hour; at < life; at += time.Hour {
		hours = append(hours, at)
	}
	tests := map[string]struct {
		look []time.Duration // after the start
		want bool            // at the last look
	}{
		"in use":              {[]time.Duration{idle - 1}, true},
		"idle":                {[]time.Duration{idle}, false},
		"in use for long":     {[]time.Duration{idle - 1, 2*idle - 2}, true},
		"idle after a use":    {[]time.Duration{idle - 1, 2*idle - 1}, false},
		"in use all its life": {append(slices.Clone(hours), life-1), true},
		"at its end":          {append(slices.Clone(hours), life), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, begin, got := newTable(3, 0), time.Now(), false
			token := s.Open(1, begin, nil)
			one := s.Find(token, begin)
			for _, at := range tc.look {
				alive := s.Alive(one, begin.Add(at))
				if got = s.Find(token, begin.Add(at)) != nil; alive != got {
					t.Errorf("after %v: alive %v, found %v", at, alive, got)
				}
			}
			if got != tc.want {
				t.Errorf("found %v, want %v", got, tc.want)
			}
		})
	}
}

func TestCookie(t *testing.T) {
	c := Cookie{Name: "a", Secure: true, Life: time.Hour}
	w := httptest.NewRecorder()
	c.Set(w, "value")
	if got, want := w.Header().Get("Set-Cookie"), "a=value; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Strict"; got != want {
		t.Errorf("Set: got %q, want %q", got, want)
	}
	w = httptest.NewRecorder()
	Cookie{Name: "b"}.Delete(w)
	if got, want := w.Header().Get("Set-Cookie"), "b=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"; got != want {
		t.Errorf("Delete: got %q, want %q", got, want)
	}
	for value, want := range map[string]string{"": "", "x": "x", strings.Repeat("x", maxCookie): strings.Repeat("x", maxCookie), strings.Repeat("x", maxCookie+1): ""} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: "a", Value: value})
		if got := c.Value(r); got != want {
			t.Errorf("Value of %d bytes: got %q", len(value), got)
		}
	}
	if got := c.Value(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)); got != "" {
		t.Errorf("Value without a cookie: got %q", got)
	}
}

func TestForms(t *testing.T) {
	f, other := NewForms(), NewForms()
	token := f.Token("cookie")
	if !f.Valid("cookie", token) {
		t.Error("a form's own token is not valid")
	}
	if f.Valid("other", token) || other.Valid("cookie", token) || f.Valid("cookie", "") || f.Valid("cookie", token+"x") || f.Valid("", f.Token("")) {
		t.Error("a token is valid for another browser, another process or no browser")
	}
}

func TestReadForm(t *testing.T) {
	const kind = "application/x-www-form-urlencoded"
	tests := map[string]struct {
		kind, body string
		want       int
	}{
		"fits":      {kind, "a=" + strings.Repeat("x", 98), 0},
		"too large": {kind, "a=" + strings.Repeat("x", 99), http.StatusRequestEntityTooLarge},
		"broken":    {kind, "a=%zz", http.StatusBadRequest},
		"file":      {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--", 0},
		"cut file":  {"multipart/form-data; boundary=b", "--b\r\nContent-Disp", http.StatusBadRequest},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(tc.body))
			r.Header.Set("Content-Type", tc.kind)
			if got := ReadForm(httptest.NewRecorder(), r, 100); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
			if tc.want == 0 && !r.PostForm.Has("a") {
				t.Error("the form lacks its field")
			}
		})
	}
}

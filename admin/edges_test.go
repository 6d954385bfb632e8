package admin

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestShowBounds(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"longest":      {strings.Repeat("é", maxShown), strings.Repeat("é", maxShown)},
		"too long":     {strings.Repeat("é", maxShown+1), strings.Repeat("é", maxShown) + "…"},
		"most accents": {"e" + strings.Repeat("\u0301", maxMarks), "e" + strings.Repeat("\u0301", maxMarks)},
		"one too many": {"e" + strings.Repeat("\u0301", maxMarks+1) + "x", "e" + strings.Repeat("\u0301", maxMarks) + "x"},
	} {
		if got := show(tt.text); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(tt.want))
		}
	}
}

func TestActorHeaderBounds(t *testing.T) {
	for n, want := range map[int]int{maxByHeader: maxByHeader, maxByHeader + 1: 0} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set(byHeader, strings.Repeat("a", n))
		if got := len(apiActor(r).By); got != want {
			t.Errorf("a header of %d bytes: an actor of %d bytes, want %d", n, got, want)
		}
	}
}

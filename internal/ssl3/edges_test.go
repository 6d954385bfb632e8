package ssl3

import "testing"

func TestSessionLimit(t *testing.T) {
	for n, want := range map[int]bool{0: true, maxSession: true, maxSession + 1: false} {
		body := make([]byte, 2+randomLen+1+n)
		body[2+randomLen] = byte(n)
		var h hello
		if _, ok := h.parseStart(body); ok != want || ok && len(h.session) != n {
			t.Errorf("session of %d bytes: %v with %d, want %v", n, ok, len(h.session), want)
		}
	}
}

package meeting

import "testing"

func TestPair(t *testing.T) {
	const table = `
none:            direct direct direct direct direct direct
firewall:        direct negotiated negotiated negotiated negotiated relayed
full_cone:       direct negotiated negotiated negotiated negotiated negotiated
restricted:      direct negotiated negotiated negotiated negotiated negotiated
port_restricted: direct negotiated negotiated negotiated negotiated relayed
symmetric:       direct relayed negotiated negotiated relayed relayed
`
	got := "\n"
	for _, a := range Routers() {
		line := a.String() + ":"
		for len(line) < 16 {
			line += " "
		}
		for _, b := range Routers() {
			if Pair(a, b) != Pair(b, a) {
				t.Errorf("%v and %v: the order matters", a, b)
			}
			line += " " + Pair(a, b).String()
		}
		got += line + "\n"
		if w := Pair(a, RouterUnknown); w != Unreported {
			t.Errorf("%v and an unknown one: %v", a, w)
		}
	}
	if got != table {
		t.Errorf("pairs:%swant:%s", got, table)
	}
}

func TestRouterWords(t *testing.T) {
	for r := range Router(RouterKinds) {
		w := r.Words()
		if r.String() == "" || w.Name == "" || w.Hosting == "" || w.Joining == "" {
			t.Errorf("%v: words %+v", r, w)
		}
		if (r.Kind() == Unknown) != (r == RouterUnknown) {
			t.Errorf("%v is of kind %v", r, r.Kind())
		}
	}
	if got := Router(RouterKinds).Words().Name; got != RouterUnknown.Words().Name {
		t.Errorf("beyond the last: %q", got)
	}
}

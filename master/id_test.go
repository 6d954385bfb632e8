package master

import "testing"

func FuzzServerID(f *testing.F) {
	for _, s := range []string{"qr2-192.0.2.1-6500", "zandronum-2001:db8::1-1", "static-fe80::1%eth-0-7", "x", "-", "qr2--"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		origin, public, ok := ParseID(id)
		if !ok {
			return
		}
		o, p, ok := ParseID(string(AppendID(nil, origin, public)))
		if !ok || o != origin || p != public {
			t.Errorf("ParseID(%q): %v %v, but the id of that reads %v %v %v", id, origin, public, o, p, ok)
		}
	})
}

package cdkey

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
)

// written is a PacketWriter that keeps each packet sent, decoded.
type written struct{ sent []send }

// WritePacket implements netserve.PacketWriter.
func (w *written) WritePacket(b []byte, _ netip.Addr, to netip.AddrPort) error {
	body := append([]byte(nil), b...)
	crypt(body)
	w.sent = append(w.sent, send{to, body})
	return nil
}

// defaults is a configuration as the keys have it.
func defaults(mode string) Config { return Config{Mode: mode, Rate: 50, Burst: 400} }

// give hands a message to a server and returns why it was dropped.
func give(s *Server, w netserve.PacketWriter, from netip.AddrPort, text string, now time.Time) drop {
	data := []byte(text)
	crypt(data)
	return s.handle(w, netserve.Packet{Data: data, From: from}, now)
}

func TestModes(t *testing.T) {
	tests := map[string]struct {
		config Config
		banned bool
		key    string
		want   string // beginning of the answer
	}{
		"permissive":                    {defaults(Permissive), false, "other", `\uok\`},
		"permissive, banned":            {defaults(Permissive), true, goodKey, `\unok\`},
		"strict, good":                  {defaults(Strict), false, goodKey, `\uok\`},
		"strict, unknown":               {defaults(Strict), false, "other", `\unok\`},
		"strict, banned":                {defaults(Strict), true, goodKey, `\unok\`},
		"product strict of its own":     {Config{Mode: Permissive, Products: []string{"461=strict"}, Rate: 50, Burst: 400}, false, "other", `\unok\`},
		"product permissive of its own": {Config{Mode: Strict, Products: []string{"461=permissive"}, Rate: 50, Burst: 400}, false, "other", `\uok\`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var w written
			s := New(Options{Config: test.config, Keys: oneKey{test.banned}})
			if why := give(s, &w, one, auth(test.key, "5"), time.Now()); why != notDropped {
				t.Fatalf("dropped: %s", why)
			}
			if len(w.sent) != 1 || w.sent[0].to != one || !strings.HasPrefix(string(w.sent[0].body), test.want) {
				t.Errorf("sent %v, want one that begins with %s", w.sent, test.want)
			}
		})
	}
}

// TestProducts answers for every number of a product that a game can have.
func TestProducts(t *testing.T) {
	request := auth(goodKey, "5")
	if !strings.Contains(request, `\pid\461\`) {
		t.Fatalf("the request is %q", request)
	}
	for number, want := range map[string]drop{
		"0": notDropped, "1": notDropped, "461": notDropped, "1073741825": notDropped, "2147483647": notDropped, "0000000461": notDropped,
		"2147483648": dropMalformed, "99999999999": dropMalformed, "-1": dropMalformed, "": dropMalformed, "4 6": dropMalformed,
	} {
		var w written
		s := New(Options{Config: defaults(Permissive), Keys: oneKey{}})
		why := give(s, &w, one, strings.Replace(request, `\pid\461\`, `\pid\`+number+`\`, 1), time.Now())
		if why != want || (len(w.sent) == 1) != (want == notDropped) {
			t.Errorf("product %q: dropped %q, %d answers, want %q", number, why, len(w.sent), want)
		}
	}
}

func TestDrops(t *testing.T) {
	banned := func(a netip.Addr) bool { return a == two.Addr() }
	s := New(Options{Config: defaults(Permissive), Keys: oneKey{}, Peers: part.Peers{Banned: banned}})
	request := auth(goodKey, "5")
	for name, test := range map[string]struct {
		from netip.AddrPort
		text string
		want drop
	}{
		"as it should be": {one, request, notDropped},
		"no port":         {netip.AddrPortFrom(one.Addr(), 0), request, dropForeign},
		"banned":          {two, request, dropBanned},
		"too long":        {one, request + strings.Repeat("x", maxRequest), dropMalformed},
		"no text":         {one, "", dropMalformed},
		"short response":  {one, strings.Replace(request, Respond(goodKey, challenge, 77), Respond(goodKey, challenge, 77)[:71], 1), dropShape},
		"answer unasked":  {one, `\uoff\\skey\1`, dropUnasked},
		"count unasked":   {one, `\ucount\7`, dropUnasked},
	} {
		if got := give(s, new(written), test.from, test.text, time.Now()); got != test.want {
			t.Errorf("%s: dropped %q, want %q", name, got, test.want)
		}
	}
}

// One address may ask for 64 players at once, and a flood is not answered.
func TestRate(t *testing.T) {
	s := New(Options{Config: defaults(Permissive), Keys: oneKey{}})
	var w written
	now := time.Now()
	for i := range 8000 {
		_ = give(s, &w, one, auth(goodKey, "5"), now)
		if i == 63 && len(w.sent) != 64 {
			t.Fatalf("%d answers to the first 64 requests", len(w.sent))
		}
	}
	if got := len(w.sent); got != 400 {
		t.Errorf("%d answers to 8000 requests at once, want the burst of 400", got)
	}
	if why := give(s, &w, three, auth(goodKey, "5"), now); why != notDropped {
		t.Errorf("request of another address dropped: %s", why)
	}
}

func TestProductModes(t *testing.T) {
	if modes, err := productModes([]string{"461=strict", "0=permissive"}); err != nil || !modes[461] || modes[0] {
		t.Errorf("productModes() = %v, %v", modes, err)
	}
	for _, bad := range []string{"461", "=strict", "x=strict", "-1=strict", "461=other"} {
		if _, err := productModes([]string{bad}); err == nil || !strings.Contains(err.Error(), "cdkey.products") {
			t.Errorf("productModes(%q) = %v, want an error that names the key", bad, err)
		}
	}
	if _, err := productModes(make([]string, maxProducts+1)); err == nil {
		t.Error("more products than may be are taken")
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, mode := range []string{Permissive, Strict} {
		b.Run(mode, func(b *testing.B) {
			c := defaults(mode)
			s := New(Options{Config: c, Keys: oneKey{}, Peers: part.Peers{Trusted: func(netip.Addr) bool { return true }}})
			data := []byte(auth(goodKey, "5"))
			crypt(data)
			b.ReportAllocs()
			for b.Loop() {
				if why := s.handle(nowhere{}, netserve.Packet{Data: data, From: one}, time.Now()); why != notDropped {
					b.Fatal(why)
				}
			}
		})
	}
}

// nowhere is a PacketWriter that drops everything.
type nowhere struct{}

// WritePacket implements netserve.PacketWriter.
func (nowhere) WritePacket([]byte, netip.Addr, netip.AddrPort) error { return nil }

package web

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/master"
)

// withAddresses is a machine on 10.0.0.5/24 whose servers are advertised as
// 203.0.113.5, behind a proxy that says where visitors come from.
func withAddresses(o *Options) {
	o.Addresses = advertise.New(o.Registry)
	o.Addresses.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.5")}})
	o.Addresses.SetNetworks([]hostnet.Address{{Prefix: netip.MustParsePrefix("10.0.0.5/24")}})
	o.Policy.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} // of httptest
}

// visitors are the addresses that a server on 127.0.0.1 has for each visitor.
var visitors = map[string]string{"127.0.0.1": "127.0.0.1", "::1": "127.0.0.1", "10.0.0.9": "10.0.0.5", "203.0.113.9": "203.0.113.5"}

func TestVisitorsAreGivenTheAddressThatReachesTheServer(t *testing.T) {
	f := newFixture(t, withAddresses)
	f.put(listed{addr: "127.0.0.1:7001", rules: []string{"hostname", "Here"}})
	f.put(listed{addr: "192.0.2.9:7002", rules: []string{"hostname", "Far"}})
	const id = "qr2-127.0.0.1-7001"
	tags := make(map[string]string) // of the list, with the address that it has
	for visitor, host := range visitors {
		as := func(target string) string {
			t.Helper()
			w := f.do(http.MethodGet, target, "X-Forwarded-For", visitor)
			if w.Code != http.StatusOK {
				t.Fatalf("%s as %s: %d\n%s", target, visitor, w.Code, w.Body)
			}
			if tag := w.Header().Get("ETag"); strings.Contains(target, "sort=") {
				if other, taken := tags[tag]; taken && other != host {
					t.Errorf("lists with the addresses %s and %s have one tag", other, host)
				}
				tags[tag] = host
			}
			return w.Body.String()
		}
		list := decode[listJSON](t, strings.NewReader(as("/api/v1/servers?sort=name")))
		if got := addresses(list); got != "192.0.2.9:7002 "+host+":7001" {
			t.Errorf("list for %s: %s", visitor, got)
		}
		for _, id := range []string{id, "qr2-" + host + "-7001"} {
			one := decode[serverJSON](t, strings.NewReader(as("/api/v1/servers/"+id)))
			if one.ID != "qr2-127.0.0.1-7001" || one.Address != host+":7001" || one.Host != host || one.Port != 7001 {
				t.Errorf("%s for %s: %+v, want the address %s and the id of the list", id, visitor, one, host)
			}
			if got := as("/servers/" + id); !strings.Contains(got, host+":7001") || host != "127.0.0.1" && strings.Contains(got, "127.0.0.1:7001") {
				t.Errorf("page of %s for %s: want the address %s", id, visitor, host)
			}
			as("/api/v1/servers/" + id + "/history")
		}
		for _, page := range []string{"/", "/servers", "/games/gmtest"} {
			if got := as(page); !strings.Contains(got, host+":7001") || !strings.Contains(got, "/servers/"+id) || host != "127.0.0.1" && strings.Contains(got, "127.0.0.1:7001") {
				t.Errorf("%s for %s: want the address %s with a link to %s", page, visitor, host, id)
			}
		}
	}
	if w := f.do(http.MethodGet, "/api/v1/servers/qr2-203.0.113.5-7003", "X-Forwarded-For", "203.0.113.9"); w.Code != http.StatusNotFound {
		t.Errorf("another port of the advertised address: %d, want 404", w.Code)
	}
}

func TestAnswersWithoutPrivateServersAreShared(t *testing.T) {
	f := newFixture(t, withAddresses)
	f.put(listed{addr: "192.0.2.9:7002"})
	var tags []string
	for visitor := range visitors {
		tags = append(tags, f.do(http.MethodGet, "/api/v1/servers", "X-Forwarded-For", visitor).Header().Get("ETag"))
	}
	for _, tag := range tags {
		if tag != tags[0] {
			t.Errorf("tags %q, want the same for everybody", tags)
		}
	}
	if got := f.count("respawnd_web_answers_built_total"); got != 1 {
		t.Errorf("%v answers were written, want 1", got)
	}
}

func TestEventsGiveTheAddressThatReachesTheServer(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		withAddresses(&f.server.opt)
		outside, mine := listen(t, ln.dial(t), ""), listen(t, ln.dial(t), "?game=gmother") // a pipe is outside
		key := f.put(listed{addr: "127.0.0.1:1", rules: []string{"hostname", "One"}})
		f.put(listed{addr: "192.0.2.2:1"})
		f.put(listed{addr: "10.0.0.20:2", game: "gmother"})
		outside.expect("added 203.0.113.5:1", "added 192.0.2.2:1", "added 203.0.113.5:2")
		mine.expect("added 203.0.113.5:2")
		f.registry.Remove(key)
		f.put(listed{addr: "127.0.0.1:3", game: "gmother"})
		outside.expect("removed 203.0.113.5:1", "added 203.0.113.5:3")
		mine.expect("added 203.0.113.5:3")
	})
}

func TestEventsForEveryAsker(t *testing.T) {
	f := newFixture(t, withAddresses)
	f.put(listed{addr: "127.0.0.1:1", rules: []string{"hostname", "One"}})
	f.put(listed{addr: "192.0.2.2:1", game: "gmother"})
	f.registry.Remove(f.put(listed{addr: "127.0.0.1:2"}))
	f.put(listed{addr: "127.0.0.1:3"})
	events := f.server.feed.write(0, f.registry.LastSerial())
	whole := string(events.textFor("", advertise.Asker{}))
	if want := string(events.text); whole != want {
		t.Errorf("for nobody known:\n%s\nwant\n%s", whole, want)
	}
	for visitor, host := range visitors {
		asker := f.server.opt.Addresses.Browser(netip.MustParseAddr(visitor), netip.Addr{})
		want := strings.ReplaceAll(strings.ReplaceAll(whole, `"address":"127.0.0.1`, `"address":"`+host), `"host":"127.0.0.1`, `"host":"`+host)
		if got := string(events.textFor("", asker)); got != want {
			t.Errorf("for %s:\n%s\nwant\n%s", visitor, got, want)
		}
	}
	if n := len(events.spots); n != 2 || !master.IsPrivate(events.spots[0].public.Addr()) {
		t.Errorf("%d private addresses in the events, want 2", n)
	}
}

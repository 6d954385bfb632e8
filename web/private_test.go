package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

// withAddresses is webtest.Advertised behind a proxy that says where visitors come
// from.
func withAddresses(o *Options) {
	o.Addresses = webtest.Advertised(o.Registry)
	o.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} // of httptest
}

func TestAddressByVisitor(t *testing.T) {
	f := newFixture(t, withAddresses)
	f.Put(webtest.Listed{Addr: "127.0.0.1:7001", Rules: []string{"hostname", "Here"}})
	f.Put(webtest.Listed{Addr: "192.0.2.9:7002", Rules: []string{"hostname", "Far"}})
	const id = "qr2-127.0.0.1-7001"
	tags := make(map[string]string) // of the list, with the address that it has
	for visitor, host := range webtest.Visitors() {
		as := func(target string) string {
			t.Helper()
			w := f.Do(http.MethodGet, target, "X-Forwarded-For", visitor)
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
		list := webtest.Decode[webtest.ListJSON](t, strings.NewReader(as("/api/v1/servers?sort=name")))
		if got := webtest.Addresses(list); got != "192.0.2.9:7002 "+host+":7001" {
			t.Errorf("list for %s: %s", visitor, got)
		}
		for _, id := range []string{id, "qr2-" + host + "-7001"} {
			one := webtest.Decode[webtest.ServerJSON](t, strings.NewReader(as("/api/v1/servers/"+id)))
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
	if w := f.Do(http.MethodGet, "/api/v1/servers/qr2-203.0.113.5-7003", "X-Forwarded-For", "203.0.113.9"); w.Code != http.StatusNotFound {
		t.Errorf("another port of the advertised address: %d, want 404", w.Code)
	}
}

func TestSharedByAllVisitors(t *testing.T) {
	f := newFixture(t, withAddresses)
	f.Put(webtest.Listed{Addr: "192.0.2.9:7002"})
	var tags []string
	for visitor := range webtest.Visitors() {
		tags = append(tags, f.Do(http.MethodGet, "/api/v1/servers", "X-Forwarded-For", visitor).Header().Get("ETag"))
	}
	for _, tag := range tags {
		if tag != tags[0] {
			t.Errorf("tags %q, want the same for everybody", tags)
		}
	}
	if got := f.Count("respawnd_web_answers_built_total"); got != 1 {
		t.Errorf("%v answers were written, want 1", got)
	}
}

func TestPrivateFields(t *testing.T) {
	f := newFixture(t)
	key := f.Put(webtest.Listed{
		Rules: []string{"localip0", "172.16.9.9", "LOCALIP4", "172.16.9.8", "localport", "6511", "publicip", "-1062729387", "publicport", "6512", "hostname", "h"},
		Change: func(s *master.Server) {
			s.Key.Source = netip.MustParseAddrPort("203.0.113.77:40001")
			s.Via = netip.MustParseAddr("10.1.2.3")
			s.Local = []netip.AddrPort{netip.MustParseAddrPort("172.16.9.9:6511")}
		},
	})
	private := []string{
		"172.16.9", "6511", "1062729387", "6512", "203.0.113.77", "40001", "10.1.2.3", fmt.Sprint(key.Instance), "localip", "publicip",
		webtest.SecretOne, webtest.SecretTwo,
	}
	for _, g := range f.Catalog.All() {
		private = append(private, g.Secrets...)
	}
	for _, target := range []string{
		"/", "/servers?game=gmtest", "/api/v1/servers?full=1", "/api/v1/servers/qr2-192.0.2.1-6500", "/api/v1/games", "/api/v1/games?active=1",
	} {
		w := f.Get(target)
		if w.Code != http.StatusOK {
			t.Errorf("GET %s: got %d, want 200", target, w.Code)
		}
		all := strings.ToLower(w.Body.String() + fmt.Sprint(w.Header()))
		for _, p := range private {
			if strings.Contains(all, strings.ToLower(p)) {
				t.Errorf("GET %s shows %q", target, p)
			}
		}
	}
}

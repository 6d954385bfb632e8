package web

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rsc.io/qr"

	"github.com/respawnd/respawnd/internal/qrsvg"
	"github.com/respawnd/respawnd/web/webtest"
)

// modules draws the path of a code again.
func modules(t *testing.T, svg string) map[[2]int]bool {
	t.Helper()
	dark := make(map[[2]int]bool)
	for _, m := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(svg, -1) {
		var n [4]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+1])
		}
		if n[2] != n[3] {
			t.Errorf("the rectangle %s does not close", m[0])
		}
		for x := range n[2] {
			dark[[2]int{n[0] + x - qrsvg.Quiet, n[1] - qrsvg.Quiet}] = true
		}
	}
	return dark
}

func TestDrawQR(t *testing.T) {
	for _, text := range []string{"192.0.2.1:7777", "https://servers.example.org/list/", strings.Repeat("\xff", qrsvg.MaxText)} {
		svg := string(drawQR(text))
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Errorf("the code of %q is not XML: %v", text, err)
		}
		code, err := qr.Encode(text, qr.M)
		if err != nil {
			t.Fatal(err)
		}
		dark := modules(t, svg)
		for y := range code.Size {
			for x := range code.Size {
				if dark[[2]int{x, y}] != code.Black(x, y) {
					t.Fatalf("the code of %q is wrong at %d, %d", text, x, y)
				}
			}
		}
		if want := fmt.Sprintf(`viewBox="0 0 %[1]d %[1]d"`, code.Size+2*qrsvg.Quiet); !strings.Contains(svg, want) {
			t.Errorf("the code of %q lacks %s", text, want)
		}
	}
}

func TestServerQR(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Rules: []string{"hostname", "<b>", "hostport", "7777"}})
	w := f.Get(serverPath + "/qr.svg")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != svgType || w.Body.String() != string(drawQR("192.0.2.1:7777")) {
		t.Errorf("the code of a server: %d %s", w.Code, w.Header())
	}
	if w := f.Get("/servers/qr2-192.0.2.2-1/qr.svg"); w.Code != http.StatusNotFound {
		t.Errorf("the code of no server: %d", w.Code)
	}
	webtest.WantParts(t, "the page", f.Page(serverPath), `src="`+serverPath+`/qr.svg"`, `alt="QR code of 192.0.2.1:7777"`, `data-copy="192.0.2.1:7777"`)
}

func TestSiteQR(t *testing.T) {
	for name, tc := range map[string]struct {
		public, peer, local, want string
	}{
		"public":          {"https://example.org/list", "198.51.100.1:999", "203.0.113.5:8080", "https://example.org/list/"},
		"LAN":             {"", "192.168.1.9:999", "192.168.1.5:8080", "http://192.168.1.5:8080/"},
		"stranger":        {"", "198.51.100.1:999", "203.0.113.5:8080", ""},
		"on this machine": {"", "127.0.0.1:999", "127.0.0.1:8080", ""},
		"unknown":         {"", "192.168.1.9:999", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Config.PublicURL = tc.public })
			w := f.from(tc.peer, tc.local, "/connect/qr.svg", "Host", "evil.example")
			page := f.from(tc.peer, tc.local, "/connect", "Host", "evil.example").Body.String()
			if tc.want == "" {
				if w.Code != http.StatusNotFound || strings.Contains(page, "qr.svg") {
					t.Errorf("got %d, want 404 and no picture", w.Code)
				}
				return
			}
			if w.Body.String() != string(drawQR(tc.want)) {
				t.Errorf("the code is not that of %s", tc.want)
			}
			webtest.WantParts(t, "the page", page, `alt="QR code of `+tc.want+`"`)
			webtest.WantNoParts(t, "the page", page, "evil.example")
		})
	}
}

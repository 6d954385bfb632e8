package browser

import (
	"bytes"
	"context"
	"flag"
	"html"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// pictures is the folder for the pictures of the documentation, see make pictures.
var pictures = flag.String("pictures", "", "write the pictures of the documentation into a folder")

// neatCrowd are the servers on the pictures. Their network is for measurements and belongs to
// no players.
var neatCrowd = crowd{netip.MustParsePrefix("198.18.0.0/15"), []crowdGame{
	{"ut", "Z5Nfb0", []string{"CTF-Face", "DM-Deck16][", "DM-Morpheus", "AS-Frigate"}, []string{"Capture the flag", "Deathmatch"}, 16},
	{"swat4", "tG3j8c", []string{"MP-ABomb", "MP-Courthouse", "MP-Fairfax"}, []string{"Barricaded Suspects", "VIP Escort"}, 16},
	{"bfield1942", "HpWx9z", []string{"El Alamein", "Wake", "Stalingrad"}, []string{"Conquest"}, 32},
	{"halor", "e4Rd9J", []string{"bloodgulch", "sidewinder", "dangercanyon"}, []string{"CTF", "Slayer"}, 16},
}, []string{
	"Face classics, all night", "Tactical Tuesday", "Desert and Pacific, no mods", "Blood Gulch forever", "Old Farts Club", "Hostage rescue, co-op",
	"Kellergeister", "Sidewinder CTF", "InstaGib for beginners", "Czech SWAT team", "Wake Island 24/7", "Friday night pistols", "DM rotation, 16 slots",
	"Suspects barricaded", "Stalingrad veterans", "Danger Canyon",
}}

// defaults are the usual addresses of the services that startDaemon puts elsewhere.
var defaults = []string{
	"RESPAWND_SERVICES=", "RESPAWND_QR2_LISTEN=:27900", "RESPAWND_SERVERBROWSE_LISTEN=:28910", "RESPAWND_LEGACYLIST_LISTEN=:28900", "RESPAWND_GPCM_LISTEN=:29900",
	"RESPAWND_GPSP_LISTEN=:29901", "RESPAWND_NATNEG_LISTEN=:27901", "RESPAWND_ZANMASTER_LISTEN=:15300", "RESPAWND_WEB_LISTEN=:8080", "RESPAWND_ADMIN_LISTEN=127.0.0.1:8081",
	"RESPAWND_SSQ_LISTEN=:26999", "RESPAWND_VALVEMASTER_LISTEN=:27010", "RESPAWND_WEBSERVICES_LISTEN=:80",
}

// TestPictures makes the pictures of the documentation, in a network of its own: make pictures.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("make pictures makes the pictures of the documentation")
	}
	chromium(t)
	d := neatCrowd.start(t, len(neatCrowd.names), defaults...)
	b := open(t)
	desk := chromedp.EmulateViewport(1280, 800)
	for name, path := range map[string]string{"servers": "/", "server": d.firstServer(b), "connect": "/connect?several=ut99,+swat+4,+bf1942,+halo#games"} {
		b.do("sit at a desk", desk)
		b.visit(d.url("web", path))
		b.keep(name)
	}
	b.do("hold a phone", chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(1.5)))
	b.visit(d.url("web", "/games/swat4"))
	b.keep("phone")
	b.do("sit at a desk", desk)
	b.logIn(d)
	b.visit(d.url("admin", "/"))
	b.keep("operator")
	d.terminal(b, "doctor", 800, "doctor", neatCrowd.net.Addr().Next().String())
	d.terminal(b, "selftest", 420, "selftest")
}

// firstServer returns the path of the page of the server with most players.
func (d *daemon) firstServer(b *tab) string {
	b.t.Helper()
	b.visit(d.url("web", "/"))
	return get(b, "read the link of a server", chromedp.Evaluate[string](`document.querySelector('.list .name a').getAttribute('href')`))
}

// terminal keeps a picture of a command and what it prints.
func (d *daemon) terminal(b *tab, name string, width int64, args ...string) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "RESPAWND_DATA_DIR="+d.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Errorf("%v: %v", args, err)
	}
	text := "$ respawnd " + strings.Join(args, " ") + "\n" + string(bytes.ReplaceAll(out, []byte(d.dir), []byte("respawnd-data")))
	file := filepath.Join(b.t.TempDir(), "terminal.html")
	style := `<!doctype html><meta charset=utf-8><style>body{margin:0;background:#14171a}pre{margin:0;padding:16px;color:#e6e8ea;font:13px/1.4 "DejaVu Sans Mono",monospace;white-space:pre-wrap}</style><pre>`
	if err := os.WriteFile(file, []byte(style+html.EscapeString(text)), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.do("open a terminal", chromedp.EmulateViewport(width, 100))
	b.visit("file://" + file)
	tall := get(b, "measure "+name, chromedp.Evaluate[int64](`document.querySelector('pre').offsetHeight`))
	b.do("see all of "+name, chromedp.EmulateViewport(width, tall))
	b.keep(name)
}

// keep writes what is to be seen as a picture of the documentation.
func (b *tab) keep(name string) {
	b.t.Helper()
	quality := int64(70)
	picture := get(b, "keep "+name, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		return r.Data, err
	})
	if err := os.WriteFile(filepath.Join(*pictures, name+".webp"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

package web

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/web/webtest"
)

// png is the beginning of a picture, which is enough for its type.
const png = "\x89PNG\r\n\x1a\n"

// put writes files into a folder.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPicturesOfGames(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"GMTest.PNG": png + "one", "gmother.jpg": "\xff\xd8\xff\xe0", "gmquiet.svg": "<svg/>"})
	f := newFixture(t, func(o *Options) { o.Config.Pictures, o.Config.PublicURL = dir, "http://servers.example.org/list" })
	f.Put(webtest.Listed{Addr: "192.0.2.1:6500", Rules: []string{"hostname", "Server"}})

	page := f.Get("/games/gmtest").Body.String()
	_, link, _ := strings.Cut(page, `<img class="sign" src="`)
	link, _, _ = strings.Cut(link, `"`)
	webtest.WantParts(t, "the game", page, `<meta property="og:image" content="http://servers.example.org`+link+`">`)
	webtest.WantParts(t, "its server", f.Get("/servers/qr2-192.0.2.1-6500").Body.String(), `og:image`)
	for _, path := range []string{"/", "/games"} {
		webtest.WantParts(t, path, f.Get(path).Body.String(), `src="`+link+`"`)
	}
	for _, path := range []string{"/api/v1/games", "/api/v1/games/gmtest"} {
		webtest.WantParts(t, path, f.Get(path).Body.String(), `"picture":"`+link+`"`)
	}
	w := f.Get(strings.TrimPrefix(link, "/list"))
	for name, want := range map[string]string{
		"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Cache-Control": "public, max-age=86400", "Content-Length": fmt.Sprint(len(png) + 3),
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if w := f.Ask("192.0.2.9:1000", "/games/gmtest/picture", "If-None-Match", w.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("asked again: got %d", w.Code)
	}
	if w := f.Get("/games/gmother/picture"); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/jpeg" {
		t.Errorf("JPEG: got %d as %s", w.Code, w.Header().Get("Content-Type"))
	}
	for _, path := range []string{"/games/gmquiet/picture", "/games/nothing/picture", "/games/..%2fgmtest/picture"} {
		if w := f.Get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}

	// Another file, and none: what was found before is not shown.
	put(t, dir, map[string]string{"GMTest.PNG": png + "two"})
	c := *f.server.opt.Config
	f.server.Reload(&c)
	if again := f.Get("/games/gmtest").Body.String(); strings.Contains(again, link) || !strings.Contains(again, "/picture?v=") {
		t.Error("the page has the address of the picture of before")
	}
	put(t, dir, map[string]string{"GMTest.PNG": "text"})
	if w := f.Get("/games/gmtest/picture"); w.Code != http.StatusNotFound {
		t.Errorf("a picture that became text: got %d", w.Code)
	}
	c.Pictures = ""
	f.server.Reload(&c)
	webtest.WantNoParts(t, "without pictures", f.Get("/games/gmtest").Body.String(), "picture", "og:image")
}

func TestPicturesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"large.png": png + strings.Repeat("x", maxPictureSize-len(png)), "larger.png": png + strings.Repeat("x", maxPictureSize-len(png)+1),
		"text.png": "text", "empty.png": "", "noending": png, "twice.gif": "GIF89a", "twice.png": png,
	})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.png")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.png"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := scanPictures(dir)
	if err != nil || len(p.of) != 2 || p.of["large"].file == "" || p.of["twice"].file != "twice.gif" {
		t.Fatalf("found %v, %v", p.of, err)
	}
	var refused []string
	for _, err := range p.refused {
		refused = append(refused, strings.SplitN(err.Error(), `"`, 3)[1])
	}
	if want := []string{"empty.png", "folder.png", "larger.png", "link.png", "noending", "text.png", "twice.png"}; !slices.Equal(refused, want) {
		t.Errorf("refused are %q, want %q", refused, want)
	}
	c := Config{Pictures: dir}
	if err := c.checkPictures("", service.AtStart); err != nil {
		t.Errorf("at the start: %v", err)
	}
	if err := c.checkPictures("", service.OnCommand); err == nil || !strings.Contains(err.Error(), "web.pictures") || !strings.Contains(err.Error(), "larger.png") {
		t.Errorf("check: %v", err)
	}
	if c.Pictures += "/nothing"; c.checkPictures("", service.AtStart) == nil {
		t.Error("a missing folder is no mistake")
	}
}

func TestMostPictures(t *testing.T) {
	dir := t.TempDir()
	for i := range maxPictures {
		put(t, dir, map[string]string{fmt.Sprintf("game%d.png", i): png})
	}
	if p, err := scanPictures(dir); err != nil || len(p.of) != maxPictures || len(p.refused) != 0 {
		t.Fatalf("found %d, refused %v, %v", len(p.of), p.refused, err)
	}
	put(t, dir, map[string]string{"more.png": png})
	if p, err := scanPictures(dir); err != nil || len(p.of) != maxPictures || len(p.refused) != 1 {
		t.Errorf("one more: found %d, refused %v, %v", len(p.of), p.refused, err)
	}
}

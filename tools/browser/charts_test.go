package browser

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/qr2"
)

// visited is a server with a past.
type visited struct {
	at    netip.AddrPort
	game  string
	most  int           // players
	since time.Duration // it was listed first so long ago
}

// writeHistory leaves a month of servers in a data folder, with a gap.
func writeHistory(t *testing.T, dir string, servers ...visited) {
	t.Helper()
	b, now := history.NewBook(), time.Now()
	for at := now.Add(-history.Month.Length()); at.Before(now); at = at.Add(history.Interval) {
		if ago := now.Sub(at); ago > 50*time.Hour && ago < 60*time.Hour || ago > 5*time.Hour && ago < 7*time.Hour {
			continue
		}
		hour := float64(at.Hour()) + float64(at.Minute())/60
		r := b.Begin(at)
		for i, s := range servers {
			if now.Sub(at) < s.since {
				wave := math.Sin((hour - 14 - float64(i%5)) / 24 * 2 * math.Pi)
				r.Add(history.Key{Origin: qr2.Origin.Name, Public: s.at}, s.game, int(float64(s.most)*(.45+.45*wave))+at.Minute()%4*s.most/16)
			}
		}
		r.End()
	}
	f, err := os.Create(filepath.Join(dir, "players.history"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Save(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// chartScript returns the faults of the texts of charts: smaller than 12 pixels,
// outside of the window, or over each other.
const chartScript = `(() => {
  const wrong = [], charts = [...document.querySelectorAll('.chart > svg')];
  if (!charts.length) wrong.push('no chart');
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  for (const c of charts) {
    const texts = [...c.querySelectorAll('text')].map(e => ({ text: e.textContent, size: parseFloat(getComputedStyle(e).fontSize), box: e.getBoundingClientRect() }));
    if (texts.length < 4) wrong.push(texts.length + ' texts');
    for (const [i, t] of texts.entries()) {
      if (t.size < 12 || t.box.height < 12) wrong.push(t.text + ' is ' + t.size + ' and ' + t.box.height + ' pixels high');
      if (t.box.left < 0 || t.box.right > innerWidth) wrong.push(t.text + ' is outside');
      for (const o of texts.slice(i + 1))
        if (t.box.left < o.box.right && o.box.left < t.box.right && t.box.top + 3 < o.box.bottom && o.box.top + 3 < t.box.bottom) wrong.push(t.text + ' lies over ' + o.text);
    }
  }
  return wrong;
})()`

func TestChartsCanBeRead(t *testing.T) {
	chromium(t)
	dir := t.TempDir()
	writeHistory(t, dir, visited{netip.MustParseAddrPort("192.0.2.1:6500"), game, 20, history.Month.Length()})
	d := startDaemon(t, "RESPAWND_DATA_DIR="+dir)
	b := open(t)
	for name, path := range map[string]string{"charts": "/charts", "charts-home": "/", "charts-game": "/games/" + game} {
		b.visit(d.url("web", path))
		for _, width := range []int64{320, 768, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				l := look{fmt.Sprintf("%d-%s", width, scheme), width, scheme, false}
				b.as(l)
				for _, w := range get(b, "look at "+name, chromedp.Evaluate[[]string](chartScript)) {
					t.Errorf("%s (%s): %s", name, l.name, w)
				}
				b.picture(name + "-" + l.name)
			}
		}
		b.inspectHere(name)
	}
}

package browser

import (
	_ "embed"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed look.js
var lookScript string

//go:embed focus.js
var focusScript string

// inspect looks at a page in every way and leaves pictures of it.
func (b *tab) inspect(name, url string) {
	b.t.Helper()
	for _, l := range looks {
		b.as(l)
		b.do("open "+url, chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS("body")))
		for _, w := range get(b, "look at "+url, chromedp.Evaluate[[]string](lookScript)) {
			b.t.Errorf("%s (%s): %s", name, l.name, w)
		}
		b.picture(name + "-" + l.name)
	}
	stops, hidden := b.focusable(200)
	for _, h := range hidden {
		b.t.Errorf("%s: %s does not show that it has the focus", name, h)
	}
	all := get(b, "count what can be used", chromedp.Evaluate[int](`document.querySelectorAll('a[href],button:not(:disabled),input:not([type=hidden]):not(:disabled),select,textarea,summary').length`))
	if len(stops) < min(all, 200) {
		b.t.Errorf("%s: the tab key stops at %d of %d things that can be used: %q", name, len(stops), all, stops)
	}
}

// The look itself must be able to find something.
func TestLookFindsWhatIsWrong(t *testing.T) {
	b := open(t)
	b.do("open a bad page", chromedp.Navigate(`data:text/html,<h3>x</h3><input name=q><p style="color:%23aaa">pale</p><table><tr><td>x</table><img src="data:,"><a href="/"></a><div style="width:3000px">wide</div>`))
	wrong := get(b, "look at it", chromedp.Evaluate[[]string](lookScript))
	if len(wrong) < 10 {
		t.Errorf("the look at a page full of mistakes finds %q", wrong)
	}
}

package browser

import (
	_ "embed"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed look.js
var lookScript string

//go:embed focus.js
var focusScript string

// inspect opens a page, looks at it in every way and leaves pictures of it.
func (b *tab) inspect(name, url string) {
	b.t.Helper()
	b.visit(url)
	b.inspectHere(name)
}

// inspectHere looks at the page that is open, and uses the keyboard on it.
func (b *tab) inspectHere(name string) {
	b.t.Helper()
	for _, l := range looks {
		b.lookAt(name, l)
		b.picture(name + "-" + l.name)
	}
	b.as(looks[0])
	all := get(b, "count what can be used", chromedp.Evaluate[int](usableScript))
	stops, hidden := b.focusable(maxStops)
	for _, h := range hidden {
		b.t.Errorf("%s: %s does not show that it has the focus", name, h)
	}
	if len(stops) < min(all, maxStops) {
		b.t.Errorf("%s: the tab key stops at %d of %d things that can be used: %q", name, len(stops), all, stops)
	}
}

// inspectIn inspects a page in a language: each width of a translation, of which one picture is left. What the tab
// key does is the same in all languages.
func (b *tab) inspectIn(tag, name, url string) {
	b.t.Helper()
	b.visit(url)
	if tag == "en" {
		b.inspectHere(name)
		return
	}
	for _, l := range looks[:widths] {
		b.lookAt(tag+"-"+name, l)
	}
	b.picture(tag + "-" + name)
}

// lookAt looks at the page that is open in one way.
func (b *tab) lookAt(name string, l look) {
	b.t.Helper()
	b.as(l)
	for _, w := range get(b, "look at "+name, chromedp.Evaluate[[]string](lookScript)) {
		b.t.Errorf("%s (%s): %s", name, l.name, w)
	}
	if l.axe {
		b.axe(name, l)
	}
}

// axeScript returns axe-core, "" if npm did not install it.
var axeScript = sync.OnceValue(func() string {
	script, _ := os.ReadFile("node_modules/axe-core/axe.min.js") // it may be missing, see axe
	return string(script)
})

// axeRun returns what axe finds wrong, a sentence for each kind of mistake.
const axeRun = `axe.run().then(r => r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' ')))`

// axe has axe-core look at the page. It is left out where npm did not install it, but not where CI is
// set.
func (b *tab) axe(name string, l look) {
	b.t.Helper()
	switch script := axeScript(); {
	case script != "":
		b.do("load axe", chromedp.Evaluate[chromedp.Void](script+";0"))
	case os.Getenv("CI") != "":
		b.t.Fatal("CI is set and axe-core is missing: run npm ci in tools/browser")
	default:
		return
	}
	for _, w := range get(b, "ask axe about "+name, chromedp.Evaluate[[]string](axeRun, chromedp.EvalAwaitPromise)) {
		b.t.Errorf("%s (%s): axe: %s", name, l.name, w)
	}
}

// maxStops bounds how often the tab key is pressed on a page.
const maxStops = 60

// usableScript counts the links, buttons and fields that are enabled and not folded up.
const usableScript = `[...document.querySelectorAll('a[href],button:not(:disabled),input:not([type=hidden]):not(:disabled),select,textarea,summary')].filter(e => e.checkVisibility()).length`

// The look itself must be able to find something.
func TestLookFindsMistakes(t *testing.T) {
	b := open(t)
	b.do("open a bad page", chromedp.Navigate(`data:text/html,<h3>x</h3><input name=q><p style="color:%23aaa">pale</p><table><tr><td>x</table><img src="data:,"><a href="/"></a><div style="width:3000px">wide</div>`))
	wrong := get(b, "look at it", chromedp.Evaluate[[]string](lookScript))
	if len(wrong) < 10 {
		t.Errorf("the look at a page full of mistakes finds %q", wrong)
	}
	if axeScript() == "" {
		return
	}
	b.do("load axe", chromedp.Evaluate[chromedp.Void](axeScript()+";0"))
	if wrong := get(b, "ask axe", chromedp.Evaluate[[]string](axeRun, chromedp.EvalAwaitPromise)); len(wrong) < 5 {
		t.Errorf("axe finds %q there", wrong)
	}
}

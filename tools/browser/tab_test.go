package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// artefacts is the folder of the pictures.
const artefacts = "artefacts"

// tab is a page of the browser. Errors and warnings of the browser fail the test.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex // guards complaints
	complaints []string
}

// open starts a browser of its own, with an empty profile. It can reach the
// loopback address and nothing else.
func open(t *testing.T) *tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.UserDataDir(t.TempDir()),
	)
	allocated, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	b := &tab{t: t}
	b.ctx, cancel = chromedp.NewContext(allocated, chromedp.WithListener(b.hear))
	t.Cleanup(cancel)
	if _, err := chromedp.Call(b.ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, c := range b.complaints {
			t.Errorf("the browser's console: %s", c)
		}
	})
	return b
}

// hear records the errors and warnings of pages.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, exceptionText(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.complaints = append(b.complaints, fmt.Sprint(e.Type, " of ", len(e.Args), " values"))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// forgive takes back the complaints that hold a text; there must be some.
func (b *tab) forgive(text string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var rest []string
	for _, c := range b.complaints {
		if !strings.Contains(c, text) {
			rest = append(rest, c)
		}
	}
	if len(rest) == len(b.complaints) {
		b.t.Errorf("the browser's console says nothing of %q", text)
	}
	b.complaints = rest
}

// do carries out actions in their order.
func (b *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	get(b, what, chromedp.Steps(actions...))
}

// run carries out an action within a time.
func run[T any](b *tab, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, hang)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// get carries out an action and returns its value.
func get[T any](b *tab, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	v, err := run(b, action)
	if err != nil {
		b.picture("failed-" + strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return r
			}
			return '-'
		}, what))
		text, _ := run(b, chromedp.Text(chromedp.CSS("body"))) // the test fails anyway
		b.t.Fatalf("%s: %v; the page says:\n%s", what, err, text)
	}
	return v
}

// visit opens a page.
func (b *tab) visit(url string) {
	b.t.Helper()
	b.do("open "+url, chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS("body")))
}

// withoutScript forbids the pages to run scripts.
func (b *tab) withoutScript() {
	b.t.Helper()
	b.do("forbid scripts", func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	})
}

// see waits until the page shows a text.
func (b *tab) see(text string) {
	b.t.Helper()
	b.wait("see "+text, `text => document.body && document.body.innerText.includes(text)`, text)
}

// miss waits until the page no longer shows a text.
func (b *tab) miss(text string) {
	b.t.Helper()
	b.wait("miss "+text, `text => document.body && !document.body.innerText.includes(text)`, text)
}

// wait waits until a function of JavaScript is true for a text.
func (b *tab) wait(what, function, text string) {
	b.t.Helper()
	call := fmt.Sprintf("(%s)(%q)", function, text)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range int(hang / (50 * time.Millisecond)) {
		if ok, err := run(b, chromedp.Evaluate[bool](call)); err == nil && ok {
			return // an error: the next page is on its way
		}
		<-tick.C
	}
	b.do(what, chromedp.Func(func(context.Context, *chromedp.Target) error { return errors.New("waited in vain") }))
}

// unfold opens the part of the page that is folded up under a text.
func (b *tab) unfold(text string) {
	b.t.Helper()
	b.do("unfold "+text, chromedp.Click(fmt.Sprintf(`//summary[normalize-space(.)=%q]`, text)))
}

// fill writes into the field with a label.
func (b *tab) fill(label, value string) {
	b.t.Helper()
	b.do("fill "+label, chromedp.SetValue(field(label), value))
}

// field finds the field of a label, inside it or by its id.
func field(label string) string {
	return fmt.Sprintf(`//label[normalize-space(text())=%[1]q]/descendant::*[self::input or self::select or self::textarea] | //*[@id=//label[normalize-space(.)=%[1]q]/@for]`, label)
}

// press clicks the button with a text.
func (b *tab) press(text string) {
	b.t.Helper()
	b.do("press "+text, chromedp.Click(fmt.Sprintf(`//button[normalize-space(.)=%[1]q] | //input[@type="submit" and @value=%[1]q]`, text)))
}

// look is how a page is looked at.
type look struct {
	name   string
	width  int64
	scheme string
	axe    bool // axe looks too, which takes longer
}

// looks begins with one of each width, as many as widths.
var looks = []look{
	{"desk-light", 1280, "light", true},
	{"wide-light", 1920, "light", true},
	{"narrow-dark", 1024, "dark", true},
	{"tablet-light", 768, "light", true},
	{"tall-phone-light", 390, "light", true},
	{"phone-dark", 320, "dark", true},
	{"desk-dark", 1280, "dark", true},
	{"tablet-dark", 768, "dark", false},
	{"phone-light", 320, "light", false},
}

const widths = 6

// as changes how the page is looked at.
func (b *tab) as(l look) {
	b.t.Helper()
	b.do("look "+l.name,
		chromedp.EmulateViewport(l.width, 900),
		func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
			})
			return chromedp.Void{}, err
		})
}

// picture leaves a picture of the whole page.
func (b *tab) picture(name string) {
	b.t.Helper()
	png, err := run(b, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Errorf("picture %s: %v", name, err)
		return
	}
	if err := os.MkdirAll(artefacts, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(artefacts, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// focused is the result of focus.js.
type focused struct {
	Path  string `json:"path"`
	Name  string `json:"name"`
	Shown bool   `json:"shown"`
}

// focusable returns the stops of the tab key, by pressing it until it is at the
// beginning again, and those that do not show that they have the focus.
func (b *tab) focusable(most int) (stops []string, hidden []string) {
	b.t.Helper()
	b.do("go to the beginning", chromedp.Evaluate[chromedp.Void](`document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')`))
	seen := make(map[string]bool)
	for range most {
		b.do("press tab", chromedp.KeyEvent("\t"))
		at := get(b, "see what has the focus", chromedp.Evaluate[focused](focusScript))
		if at.Path == "" || seen[at.Path] {
			break
		}
		seen[at.Path] = true
		stops = append(stops, at.Name)
		if !at.Shown {
			hidden = append(hidden, at.Name)
		}
	}
	return stops, hidden
}

func exceptionText(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

package page

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/colour"
)

// luminance returns the relative luminance of a colour such as #1c2024.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var sum float64
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatalf("colour %s: %v", hex, err)
		}
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// contrast returns the contrast of two colours as WCAG counts it.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

// TestInksCanBeRead: each colour of a name has the contrast of text on every ground of
// the pages, light and dark.
func TestInksCanBeRead(t *testing.T) {
	read := func(name string) string {
		text, err := files.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const dark = "@media (prefers-color-scheme: dark)"
	groundsLight, groundsDark, _ := strings.Cut(read("style.css"), dark)
	inksLight, inksDark, _ := strings.Cut(read("charts.css"), dark)
	find := func(css, name string) string {
		t.Helper()
		found := regexp.MustCompile(regexp.QuoteMeta(name) + `[:{ color]+(#[0-9a-f]{6})\b`).FindStringSubmatch(css)
		if found == nil {
			t.Fatalf("the style sheet lacks %s", name)
		}
		return found[1]
	}
	for scheme, css := range map[string][2]string{"light": {groundsLight, inksLight}, "dark": {groundsDark, inksDark}} {
		for ink := colour.Red; ink <= colour.Grey; ink++ {
			for _, ground := range []string{"--back", "--card", "--band"} {
				if c := contrast(t, find(css[1], "."+ink.Class()), find(css[0], ground)); c < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.1f, want at least 4.5", scheme, ink.Class(), ground, c)
				}
			}
		}
	}
}

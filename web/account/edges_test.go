package account

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/respawnd/respawnd/web/page"
)

func TestTextsOfTheOperator(t *testing.T) {
	p := Pages{site: page.New("", "")}
	for name, tc := range map[string]struct {
		most int
		set  func(text string) page.Community
		get  func() string
	}{
		"contact": {maxContact, func(text string) page.Community { return page.Community{Contact: page.Link{Title: text}} }, p.contact},
		"name":    {maxSiteName, func(text string) page.Community { return page.Community{Title: text} }, p.name},
	} {
		for n, want := range map[int]int{1: 1, tc.most: tc.most, tc.most + 1: tc.most} {
			text := strings.Repeat("c", n)
			p.site.SetCommunity(tc.set(text))
			if got := tc.get(); utf8.RuneCountInString(got) != want || (got == text) != (n == want) {
				t.Errorf("%s of %d characters: %q, want %d characters", name, n, got, want)
			}
		}
	}
}

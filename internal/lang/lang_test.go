package lang

import (
	"strings"
	"testing"
	"time"
)

func TestText(t *testing.T) {
	de := Find("de")
	for _, c := range []struct{ got, want string }{
		{(*Language)(nil).T("%1 of %2", 3, "x"), "3 of x"},
		{de.T("%1 of %2", 3, 12345), "3 von 12.345"},
		{de.T("a text that no page has: 100% of %3%1%", "x"), "a text that no page has: 100% of %3x%"},
		{(*Language)(nil).N(1, "%1 server|%1 servers"), "1 server"},
		{Find("en").N(12345, "%1 server|%1 servers"), "12345 servers"},
		{de.N(2, "%1 a of %2|%1 b of %2", "x"), "2 b of x"},
		{(*Language)(nil).String() + Find("zh-Hans").String(), "enzh-Hans"},
		{de.Decimal(1.5) + " " + (*Language)(nil).Decimal(1.5), "1,5 1.5"},
		{de.Number(-5) + " " + de.Number(1234567), "-5 1.234.567"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestForms has the numbers at which each rule changes.
func TestForms(t *testing.T) {
	numbers := []int{0, 1, 2, 4, 5, 11, 12, 21, 22, 25, 101, 102, 111, 112, 121}
	for tag, want := range map[string]string{
		"en": "202222222222222", "de": "202222222222222", "fr": "002222222222222", "pt": "002222222222222",
		"cs": "201122222222222", "pl": "201122221221222", "ru": "201122201201220", "zh-Hans": "000000000000000",
	} {
		var got strings.Builder
		for _, n := range numbers {
			got.WriteByte('0' + byte(Find(tag).form(n)))
		}
		if got.String() != want {
			t.Errorf("%s: %s, want %s", tag, got.String(), want)
		}
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2026, 5, 2, 15, 4, 0, 0, time.UTC)
	for _, c := range []struct{ tag, layout, want string }{
		{"en", "Monday, 2 January", "Saturday, 2 May"},
		{"de", "Monday, 2 January", "Samstag, 2. Mai"},
		{"de", "Mon 2 Jan", "Sa 2. Mai"},
		{"ru", "2 January 2006, 15:04 UTC", "2 мая 2026, 15:04 UTC"},
		{"zh-Hans", "2 January 2006", "2026年5月2日"},
	} {
		if got := Find(c.tag).Time(at, c.layout); got != c.want {
			t.Errorf("%s: got %q, want %q", c.tag, got, c.want)
		}
	}
	if got := (*Language)(nil).Time(at, "Mon 2 Jan"); got != "Sat 2 May" {
		t.Errorf("no language: got %q", got)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ chosen, accepted, want string }{
		{"", "", "en"},
		{"", "de-AT,de;q=0.9,en;q=0.8", "de"},
		{"", "nl, fr;q=0.5, ru;q=0.7, *;q=0.1", "ru"},
		{"", "EN-gb, de", "en"},
		{"", "de;q=0, nl", "en"},
		{"", "de;q=x, it;q=0.1", "it"},
		{"", "zh-CN", "zh-Hans"},
		{"", "zh", "zh-Hans"},
		{"", "zh-TW,zh;q=0.9,en;q=0.8", "zh-Hans"},
		{"", "zh-Hant-TW,pt-BR;q=0.5", "pt"},
		{"", strings.Repeat("nl,", 100) + "de", "en"},
		{"pl", "de", "pl"},
		{"nl", "de", "de"},
	} {
		if got := Choose(c.chosen, c.accepted).Tag; got != c.want {
			t.Errorf("chosen %q, accepted %.40q: got %s, want %s", c.chosen, c.accepted, got, c.want)
		}
	}
}

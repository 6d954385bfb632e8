package storagetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func playReport(day, game, reporter string) storage.PlayReport {
	return storage.PlayReport{
		PlayReportID: storage.PlayReportID{Day: day, Game: game, Reporter: reporter}, Copy: "gog", Version: "1.1", Step: "lobby",
		Text: "no list", Services: []string{"gpcm", "peerchat"}, Met: true, Verdict: "signed in",
	}
}

func putPlayReport(t *testing.T, s storage.Store, p storage.PlayReport) {
	t.Helper()
	noErr(t, s.PutPlayReport(t.Context(), p), "PutPlayReport", p)
}

// playReportCalls is every method of reports on games.
func playReportCalls(s storage.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"PutPlayReport":     func(ctx context.Context) error { return s.PutPlayReport(ctx, playReport("2026-11-28", "late", "a")) },
		"RemovePlayReports": func(ctx context.Context) error { return errOf(s.RemovePlayReports(ctx, time.Now())) },
		"PlayReports":       func(ctx context.Context) error { return firstError(s.PlayReports(ctx)) },
	}
}

func playReportTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"put, replace, remove those of old days": testPlayReportLife,
		"records beyond the limits are refused":  testPlayReportLimits,
		"there are so many":                      testPlayReportsFull,
	}
}

func testPlayReportLife(t *testing.T, s storage.Store) {
	first, second, third := playReport("2026-11-27", "swat4", "b"), playReport("2026-11-28", "gmtest", "a"), playReport("2026-11-28", "swat4", "a")
	for _, p := range []storage.PlayReport{third, second, first} {
		putPlayReport(t, s, p)
	}
	third.Step, third.Struck, third.Services = "played", true, nil
	putPlayReport(t, s, third)
	differ(t, "reports", collect(t, s.PlayReports(t.Context())), []storage.PlayReport{first, second, third})
	for _, want := range []int{1, 0} {
		differ(t, "RemovePlayReports()", must(s.RemovePlayReports(t.Context(), time.Date(2026, 11, 28, 23, 0, 0, 0, time.UTC)))(t), want)
	}
	differ(t, "reports after removing", collect(t, s.PlayReports(t.Context())), []storage.PlayReport{second, third})
}

func testPlayReportLimits(t *testing.T, s storage.Store) {
	p := playReport("2026-11-28", strings.Repeat("g", storage.MaxMotdGame), strings.Repeat("r", 32))
	p.Text, p.Version, p.Source = strings.Repeat("ä", storage.MaxPlayReportText), strings.Repeat("v", storage.MaxPlayVersion), strings.Repeat("s", storage.MaxPlaySource)
	putPlayReport(t, s, p)
	for name, change := range map[string]func(*storage.PlayReport){
		"no day":            func(p *storage.PlayReport) { p.Day = "" },
		"no such day":       func(p *storage.PlayReport) { p.Day = "2026-02-30" },
		"no game":           func(p *storage.PlayReport) { p.Game = "" },
		"game too long":     func(p *storage.PlayReport) { p.Game += "g" },
		"slash":             func(p *storage.PlayReport) { p.Game = "a/b" },
		"no reporter":       func(p *storage.PlayReport) { p.Reporter = "" },
		"reporter too long": func(p *storage.PlayReport) { p.Reporter += "r" },
		"no step":           func(p *storage.PlayReport) { p.Step = "" },
		"other step":        func(p *storage.PlayReport) { p.Step = "won" },
		"copy too long":     func(p *storage.PlayReport) { p.Copy = strings.Repeat("c", storage.MaxPlayVersion+1) },
		"text too long":     func(p *storage.PlayReport) { p.Text += "t" },
		"control":           func(p *storage.PlayReport) { p.Text = "a\x01" },
		"version too long":  func(p *storage.PlayReport) { p.Version += "v" },
		"source too long":   func(p *storage.PlayReport) { p.Source += "s" },
		"many services":     func(p *storage.PlayReport) { p.Services = make([]string, 33) },
	} {
		p := p
		change(&p)
		wantErr(t, s.PutPlayReport(t.Context(), p), storage.ErrInvalid, "%s: PutPlayReport()", name)
	}
	differ(t, "reports", collect(t, s.PlayReports(t.Context())), []storage.PlayReport{p})
}

func testPlayReportsFull(t *testing.T, s storage.Store) {
	filled(t, s)
	together(t, storage.MaxPlayReports, func(i int) error {
		return s.PutPlayReport(t.Context(), playReport("2026-11-28", "gmtest", fmt.Sprint(i)))
	})
	putPlayReport(t, s, playReport("2026-11-28", "gmtest", "0"))
	wantErr(t, s.PutPlayReport(t.Context(), playReport("2026-11-28", "gmtest", "more")), storage.ErrFull, "PutPlayReport() beyond the limit")
}

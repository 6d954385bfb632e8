package competition

import (
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/respawnd/respawnd/internal/clans"
)

func TestClanPage(t *testing.T) {
	w := newWorld(t, nil)
	ask := func(query string) string {
		t.Helper()
		rec := httptest.NewRecorder()
		w.backend.serveClan(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/clans/ClanActions.asmx/ClanInfoByProfileID?"+query, nil))
		if rec.Code != http.StatusOK {
			t.Errorf("%s: status %d", query, rec.Code)
		}
		return rec.Body.String()
	}
	if _, err := clans.Join(t.Context(), w.store, clans.Member{Profile: 2, Tag: "<A>", Name: `"We" & you`, Rank: 3}); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"authToken=x&profileid=1", "authToken=x&profileid=0", "authToken=x", "profileid=2147483648", "profileid=two", ""} {
		if got := ask(query); got != notMember {
			t.Errorf("%q: %s", query, got)
		}
	}
	const want = `<ClanInfo><result><resultText>None: No error</resultText><resultValue>0</resultValue></result><asof>11/22/2026 8:00:00 PM</asof>` +
		`<clan clanid="1" clantag="&lt;A&gt;" clanname="&#34;We&#34; &amp; you" ArenaTeamId="1" ArenaMemberId="1" picid="0"><Member rank="3"/></clan></ClanInfo>`
	got := ask("authToken=x&profileid=2")
	if got != want {
		t.Errorf("a member:\n got %s\nwant %s", got, want)
	}
	var parsed struct {
		Clan struct {
			Name string `xml:"clanname,attr"`
		} `xml:"clan"`
	}
	if err := xml.Unmarshal([]byte(got), &parsed); err != nil || parsed.Clan.Name != `"We" & you` {
		t.Errorf("the answer reads as %+v, %v", parsed, err)
	}
}

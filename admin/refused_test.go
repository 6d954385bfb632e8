package admin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// A ban that has already expired is surely a mistake.
func TestBanThatIsOver(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		now := time.Now()
		prefix := netip.MustParsePrefix("192.0.2.0/24")
		p := create(t, op, bob(nil))
		for name, b := range map[string]storage.Ban{
			"ends before it begins": {Added: now.Add(2 * time.Hour), Expires: now.Add(time.Hour)},
			"ends as it begins":     {Added: now.Add(time.Hour), Expires: now.Add(time.Hour)},
			"is over":               {Expires: now.Add(-time.Second)},
			"was over long ago":     {Added: now.Add(-2 * time.Hour), Expires: now.Add(-time.Hour)},
		} {
			b.Prefix, b.Scope = prefix, storage.ScopeAll
			if err := operator.AddBan.Exec(t.Context(), op, operator.NewBan(b)); !errors.Is(err, operator.ErrBadRequest) || !strings.Contains(fmt.Sprint(err), "before it begins") {
				t.Errorf("AddBan of one that %s = %v, want a refusal", name, err)
			}
		}
		list, err := operator.ListBans.Call(t.Context(), op, operator.None{})
		if err != nil || len(list) > 0 {
			t.Errorf("bans after those that were refused: %v, %v", list, err)
		}
		if err := operator.BanAccount.Exec(t.Context(), op, operator.NewAccountBan{ID: p.User, Expires: now.Add(-time.Second)}); !errors.Is(err, operator.ErrBadRequest) {
			t.Errorf("BanAccount of one that is over = %v, want a refusal", err)
		}
		if a, err := operator.FindAccount.Call(t.Context(), op, operator.AccountRef{ID: p.User}); err != nil || !a.Ban.Added.IsZero() {
			t.Errorf("ban of the account: %+v, %v, want none", a.Ban, err)
		}
	})
}

// An error quotes its input, but not a megabyte of it.
func TestLongValues(t *testing.T) {
	l := newLocal(t)
	s := httptest.NewServer(New(options(l, nil)).Handler())
	defer s.Close()
	long := strings.Repeat("x", 1<<20)
	for path, body := range map[string]string{
		"/api/v1/bans":    `{"prefix":"192.0.2.0/24","scope":"` + long + `"}`,
		"/api/v1/servers": `{"` + long + `":1}`,
		"/api/v1/games":   "games:\n  - name: " + long + "\n",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode/100 != 4 || len(answer) == 0 || len(answer) > 2*clean.MaxEcho {
			t.Errorf("%s: status %d and %d bytes, want an error of at most %d", path, resp.StatusCode, len(answer), 2*clean.MaxEcho)
		}
	}
}

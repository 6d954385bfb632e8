package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// auditLines returns the audit log as one line per entry, oldest first.
func auditLines(t *testing.T, op operator.Conn) []string {
	t.Helper()
	page, err := operator.ReadAudit.Call(t.Context(), op, operator.AuditQuery{Limit: operator.MaxAuditPage})
	if err != nil {
		t.Fatalf("AuditLog: %v", err)
	}
	var out []string
	for _, e := range page.Entries {
		out = append([]string{fmt.Sprintf("%s %d %q %q", e.Action, e.ID, e.Subject, e.Detail)}, out...)
	}
	return out
}

func TestAuditEntries(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		prefix := netip.MustParsePrefix("192.0.2.0/24")
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		do := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		do("AddBan", operator.AddBan.Exec(ctx, op, operator.NewBan{Prefix: prefix, Scope: storage.ScopeLists, Reason: "flood", Expires: until}))
		_, err := operator.RemoveBan.Call(ctx, op, operator.BanRef{Prefix: prefix, Scope: storage.EveryScope})
		do("RemoveBan", err)
		_, err = operator.RemoveBan.Call(ctx, op, operator.BanRef{Prefix: prefix, Scope: storage.EveryScope}) // none left: no entry
		do("RemoveBan again", err)
		do("PutGames", operator.PutGames.Exec(ctx, op, []games.Game{{Name: "one", Secrets: []string{"SeCreT"}}, {Name: "two"}}))
		do("SetMaintenance", operator.SetMaintenance.Exec(ctx, op, operator.Maintenance{Game: "one", On: true}))
		do("DeleteGame", operator.DeleteGame.Exec(ctx, op, operator.GameRef{Game: "two"}))
		at := netip.MustParseAddrPort("192.0.2.1:6500")
		do("AddServer", operator.AddServer.Exec(ctx, op, operator.NewServer{Address: "a.example:27015", Protocol: "a2s", Game: "cstrike"}))
		_, err = operator.RemoveServer.Call(ctx, op, operator.ServerRef{Address: "a.example:27015"})
		do("RemoveServer", err)
		do("HideServer", operator.HideServer.Exec(ctx, op, operator.NewHidden{Address: at, Reason: "fake"}))
		do("UnhideServer", operator.UnhideServer.Exec(ctx, op, operator.HiddenRef{Address: at}))
		put(t, l, "gmtest", at.String())
		_, err = operator.RemoveServer.Call(ctx, op, operator.ServerRef{Address: at.String()})
		do("RemoveServer of a listed one", err)
		room, err := operator.PutRoom.Call(ctx, op, operator.NewRoom{ID: 77, Game: "one", Name: "Lobby"})
		do("PutRoom", err)
		do("DeleteRoom", operator.DeleteRoom.Exec(ctx, op, operator.RoomRef{ID: room.ID}))
		p := create(t, op, bob(nil))
		_, err = operator.IssueReset.Call(ctx, op, operator.AccountID{ID: p.User})
		do("IssueReset", err)
		do("SetPassword", operator.SetPassword.Exec(ctx, op, operator.NewPassword{ID: p.User, Password: "another secret"}))
		do("BanAccount", operator.BanAccount.Exec(ctx, op, operator.NewAccountBan{ID: p.User, Reason: "cheats"}))
		do("UnbanAccount", operator.UnbanAccount.Exec(ctx, op, operator.AccountID{ID: p.User}))
		do("UnbanAccount again", operator.UnbanAccount.Exec(ctx, op, operator.AccountID{ID: p.User})) // not banned: no entry
		do("DeleteAccount", operator.DeleteAccount.Exec(ctx, op, operator.AccountID{ID: p.User}))
		_, err = operator.ImportAccounts.Call(ctx, op, operator.AccountImport{Accounts: []accounts.Account{{
			Email: "a@b.c", Password: "imported1", Profiles: []accounts.AccountProfile{{Profile: storage.Profile{Nick: "A"}}},
		}}})
		do("ImportAccounts", err)
		_, err = operator.RotateAccountKey.Call(ctx, op, operator.None{})
		do("RotateAccountKey", err)
		l.OpenChat = openLobby
		mute := storage.ChatRuleKey{Kind: storage.ChatMute, Prefix: prefix, Channel: "#GPG!12"}
		do("PutChatRule", operator.PutChatRule.Exec(ctx, op, operator.NewChatRule{Kind: mute.Kind, Profile: mute.Profile, Prefix: mute.Prefix, Channel: mute.Channel, Reason: "spam", Expires: until}))
		do("RemoveChatRule", operator.RemoveChatRule.Exec(ctx, op, operator.ChatRuleRef(mute)))
		_, err = operator.ChatKick.Call(ctx, op, operator.Kicking{ChatTarget: operator.ChatTarget{Nick: "Ann", Channel: "#GPG!12"}, Reason: "flood"})
		do("ChatKick", err)
		do("ChatSay", operator.ChatSay.Exec(ctx, op, operator.Saying{Channel: "#GPG!12", Text: "not for the log"}))

		want := []string{
			`ban.add 0 "192.0.2.0/24 (lists)" "until ` + until.Format(time.RFC3339) + `: flood"`,
			`ban.remove 0 "192.0.2.0/24 (every)" ""`,
			`game.put 0 "one two" ""`,
			`game.maintenance 0 "one" "on"`,
			`game.remove 0 "two" ""`,
			`server.add 0 "a.example:27015" "a2s cstrike"`,
			`server.remove 0 "a.example:27015" "forgotten"`,
			`server.hide 0 "192.0.2.1:6500" "fake"`,
			`server.unhide 0 "192.0.2.1:6500" ""`,
			`server.remove 0 "192.0.2.1:6500" "taken off the list"`,
			fmt.Sprintf(`room.put %d "Lobby" "of one"`, room.ID),
			fmt.Sprintf(`room.remove %d "Lobby" "of one"`, room.ID),
			fmt.Sprintf(`account.create %d "Bob" ""`, p.User),
			fmt.Sprintf(`account.reset_link %d "Bob" ""`, p.User),
			fmt.Sprintf(`account.password %d "Bob" ""`, p.User),
			fmt.Sprintf(`account.ban %d "Bob" "for good: cheats"`, p.User),
			fmt.Sprintf(`account.unban %d "Bob" ""`, p.User),
			fmt.Sprintf(`account.delete %d "Bob" ""`, p.User),
			`account.import 0 "1 account" ""`,
			`account.rotate_key 0 "all accounts" ""`,
			`chat.mute 0 "192.0.2.0/24 in #gpg!12" "until ` + until.Format(time.RFC3339) + `: spam"`,
			`chat.unmute 0 "192.0.2.0/24 in #gpg!12" ""`,
			`chat.kick 0 "Ann in #GPG!12" "flood"`,
			`chat.say 0 "#GPG!12" ""`,
		}
		got := auditLines(t, op)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
		for _, secret := range []string{"SeCreT", "hunter2!", "another secret", "imported1", "not for the log", "bob@example.com", "Bob@example.com"} {
			if strings.Contains(strings.Join(got, "\n"), secret) {
				t.Errorf("the audit log has %q", secret)
			}
		}
	})
}

func TestAuditOfRefusedChanges(t *testing.T) {
	forBoth(t, func(t *testing.T, _ *operator.Local, op operator.Conn) {
		for name, err := range map[string]error{
			"ban of everybody":     operator.AddBan.Exec(t.Context(), op, operator.NewBan(storage.Ban{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Scope: storage.ScopeAll})),
			"unknown game removed": operator.DeleteGame.Exec(t.Context(), op, operator.GameRef{Game: "none"}),
			"unknown maintenance":  operator.SetMaintenance.Exec(t.Context(), op, operator.Maintenance{Game: "none", On: true}),
			"unknown room removed": operator.DeleteRoom.Exec(t.Context(), op, operator.RoomRef{ID: 99}),
			"unknown account":      operator.DeleteAccount.Exec(t.Context(), op, operator.AccountID{ID: 99}),
			"kick of an unknown one": func() error {
				_, err := operator.KickProfile.Call(t.Context(), op, operator.ProfileRef{ID: 99})
				return err
			}(),
		} {
			if err == nil {
				t.Errorf("%s was taken", name)
			}
		}
		if got := auditLines(t, op); len(got) > 0 {
			t.Errorf("audit log = %q, want nothing", got)
		}
	})
}

func TestAuditActor(t *testing.T) {
	l := newLocal(t)
	c := serve(t, l, testToken)
	h := New(options(l, nil)).Handler()
	b := storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Scope: storage.ScopeAll}

	if err := operator.AddBan.Exec(t.Context(), l, operator.NewBan(b)); err != nil {
		t.Fatal(err)
	}
	if err := operator.AddBan.Exec(operator.WithActor(t.Context(), operator.Actor{By: "Änne %"}), c, operator.NewBan(b)); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/bans", strings.NewReader(`{"prefix":"192.0.2.1/32","scope":"all"}`))
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("X-Forwarded-For", "203.0.113.9") // any client can send this header
	r.RemoteAddr = "[::ffff:198.51.100.7]:4444"
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("POST /api/v1/bans: %d %s", w.Code, w.Body)
	}
	page, err := operator.ReadAudit.Call(t.Context(), l, operator.AuditQuery{})
	if err != nil || len(page.Entries) != 3 {
		t.Fatalf("AuditLog() = %+v, %v", page, err)
	}
	for i, want := range []operator.Actor{
		{Via: storage.ViaAPI, From: netip.MustParseAddr("198.51.100.7")},
		{Via: storage.ViaCommand, By: "Änne %", From: netip.MustParseAddr("127.0.0.1")},
		{Via: storage.ViaCommand},
	} {
		e := page.Entries[i]
		if got := (operator.Actor{Via: e.Via, By: e.By, From: e.From}); got != want {
			t.Errorf("entry %d: who = %+v, want %+v", i, got, want)
		}
	}
}

func TestAuditLogPages(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		for i := range 250 {
			if _, err := l.Store.AddAudit(t.Context(), storage.AuditEntry{Action: "test", ID: uint32(i)}); err != nil {
				t.Fatal(err)
			}
		}
		var sizes []int
		q := operator.AuditQuery{}
		for next := uint64(251); ; {
			page, err := operator.ReadAudit.Call(t.Context(), op, q)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(page.Entries))
			for _, e := range page.Entries {
				if next--; e.Seq != next {
					t.Fatalf("entry %d follows %d", e.Seq, next+1)
				}
			}
			if q.Before = page.Next; page.Next == 0 {
				break
			}
		}
		if diff := cmp.Diff([]int{100, 100, 50}, sizes); diff != "" {
			t.Errorf("sizes of pages (-want +got):\n%s", diff)
		}
		for limit, want := range map[int]int{0: 100, 1: 1, 250: 250, operator.MaxAuditPage + 1: 250} {
			page, err := operator.ReadAudit.Call(t.Context(), op, operator.AuditQuery{Limit: limit})
			if err != nil || len(page.Entries) != want {
				t.Errorf("AuditLog(limit %d) has %d entries, %v, want %d", limit, len(page.Entries), err, want)
			}
			if more := page.Next != 0; more != (want < 250) {
				t.Errorf("AuditLog(limit %d): next page from %d", limit, page.Next)
			}
		}
	})
}

func TestAuditQuery(t *testing.T) {
	h := New(options(newLocal(t), nil)).Handler()
	for _, query := range []string{"before=x", "before=-1", "limit=x", "limit=-1", "before=99999999999999999999999"} {
		if w := request(t, h, http.MethodGet, "/api/v1/audit?"+query, "Bearer "+testToken, ""); w.Code != http.StatusBadRequest {
			t.Errorf("GET /api/v1/audit?%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// hub is presence with sessions made by hand.
type hub struct {
	list   []presence.SignedIn
	kicked []storage.ProfileID
}

func (*hub) KickUser(context.Context, storage.UserID, error) int { return 0 }
func (h *hub) KickProfile(_ context.Context, id storage.ProfileID, _ error) int {
	n := 0
	for _, s := range h.list {
		if s.Profile == id {
			n++
		}
	}
	if n > 0 {
		h.kicked = append(h.kicked, id)
	}
	return n
}
func (h *hub) Count() int { return len(h.list) }
func (h *hub) List(after storage.ProfileID, limit int) (list []presence.SignedIn, more bool) {
	for _, s := range h.list {
		if s.Profile <= after {
			continue
		}
		if len(list) == limit {
			return list, true
		}
		list = append(list, s)
	}
	return list, false
}

func TestSessions(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		if _, err := operator.ListSessions.Call(t.Context(), op, operator.SessionQuery{}); err == nil {
			t.Error("SignedIn() without a daemon: no error")
		}
		p := create(t, op, bob(nil))
		since := time.Now().UTC().Truncate(time.Second)
		peer := netip.MustParseAddrPort("192.0.2.1:4000")
		h := &hub{list: []presence.SignedIn{
			{Profile: p.ID, User: p.User, Status: presence.Status{State: presence.Playing, Text: "dm1"}, Client: presence.Client{Peer: peer, Game: "gmtest", Since: since}},
			{Profile: 4711, User: 4711}, // deleted meanwhile
		}}
		l.Sessions = h
		page, err := operator.ListSessions.Call(t.Context(), op, operator.SessionQuery{})
		if err != nil || len(page.Sessions) != 2 || page.Total != 2 || page.Next != 0 {
			t.Fatalf("SignedIn() = %+v, %v", page, err)
		}
		want := operator.Session{
			Profile: p.ID, Account: p.User, Nick: "Bob", UniqueNick: "BobU", Address: peer, Game: "gmtest",
			State: "playing", Text: "dm1", Since: since,
		}
		if page.Sessions[0] != want {
			t.Errorf("SignedIn() has %+v, want %+v", page.Sessions[0], want)
		}
		if page, err = operator.ListSessions.Call(t.Context(), op, operator.SessionQuery{Limit: 1}); err != nil || len(page.Sessions) != 1 || page.Next != p.ID {
			t.Errorf("SignedIn(limit 1) = %+v, %v", page, err)
		}
		if n, err := operator.KickProfile.Call(t.Context(), op, operator.ProfileRef{ID: p.ID}); n.Removed != 1 || err != nil || len(h.kicked) != 1 {
			t.Errorf("Kick() = %d, %v, kicked %v", n, err, h.kicked)
		}
		if _, err := operator.KickProfile.Call(t.Context(), op, operator.ProfileRef{ID: 99}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("Kick() of an unknown one = %v, want ErrNotFound", err)
		}
		got := auditLines(t, op)
		if want := fmt.Sprintf(`session.kick %d "profile %d" "Bob"`, p.User, p.ID); len(got) != 2 || got[1] != want {
			t.Errorf("audit log = %q, want %q at the end", got, want)
		}
	})
}

func TestSetMaintenance(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		if err := operator.PutGames.Exec(t.Context(), op, []games.Game{{Name: "gmtest", Title: "Mine", QueryPort: 7000}}); err != nil {
			t.Fatal(err)
		}
		for _, on := range []bool{true, false} {
			if err := operator.SetMaintenance.Exec(t.Context(), op, operator.Maintenance{Game: "GMTest", On: on}); err != nil {
				t.Fatal(err)
			}
			g, _ := l.Catalogue.Catalog().Lookup("gmtest")
			if g.Maintenance != on || g.Title != "Mine" || g.QueryPort != 7000 || g.Secret() != "HA6zkS" {
				t.Errorf("after SetMaintenance(%v) the game is %+v", on, g)
			}
			own, err := operator.GetGame.Call(t.Context(), op, operator.GameRef{Game: "gmtest"})
			if err != nil || own[0].Title != "Mine" || len(own[0].Secrets) != 0 || own[0].Maintenance != on {
				t.Errorf("after SetMaintenance(%v) the operator's record is %+v, %v", on, own, err)
			}
		}
		if err := operator.SetMaintenance.Exec(t.Context(), op, operator.Maintenance{Game: "nokey", On: true}); err != nil {
			t.Errorf("SetMaintenance() of a built-in game: %v", err)
		}
		if _, err := operator.GetGame.Call(t.Context(), op, operator.GameRef{Game: "rooms"}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("OwnGame() of a built-in game = %v, want ErrNotFound", err)
		}
	})
}

func TestWaiting(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		p := create(t, op, bob(nil))
		m := storage.Message{From: p.ID, Kind: storage.MessageText, Text: "hi", Sent: time.Now()}
		if err := l.Store.Leave(t.Context(), p.ID, m); err != nil {
			t.Fatal(err)
		}
		if w, err := operator.CountWaiting.Call(t.Context(), op, operator.None{}); err != nil || w != (operator.Waiting{Messages: 1, Profiles: 1}) {
			t.Errorf("Waiting() = %+v, %v", w, err)
		}
	})
}

package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// opener opens the rules of accounts at their first use.
func opener(store accounts.Store, keyFile string) func(context.Context) (*accounts.Service, error) {
	var once sync.Once
	var s *accounts.Service
	var err error
	return func(ctx context.Context) (*accounts.Service, error) {
		once.Do(func() { s, err = accounts.Open(ctx, store, accounts.Options{KeyFile: keyFile, Log: zerolog.Nop()}) })
		return s, err
	}
}

// kicks are the sessions that were ended.
type kicks map[storage.UserID]error

func (kicks) KickProfile(context.Context, storage.ProfileID, error) int         { return 0 }
func (kicks) List(storage.ProfileID, int) (list []presence.SignedIn, more bool) { return nil, false }
func (k kicks) Count() int                                                      { return 0 }

func (k kicks) KickUser(_ context.Context, id storage.UserID, reason error) int {
	k[id] = reason
	return 1
}

func bob(change func(*operator.NewAccount)) operator.NewAccount {
	a := operator.NewAccount{Namespace: 1, Email: "Bob@example.com", Nick: "Bob", UniqueNick: "BobU", Password: "hunter2!"}
	if change != nil {
		change(&a)
	}
	return a
}

func create(t *testing.T, op operator.Conn, a operator.NewAccount) storage.Profile {
	t.Helper()
	p, err := operator.CreateAccount.Call(t.Context(), op, a)
	if err != nil {
		t.Fatalf("CreateAccount(%s, %s): %v", a.Email, a.Nick, err)
	}
	return p
}

// logsIn returns the result of a sign-in with a password.
func logsIn(t *testing.T, l *operator.Local, email, password string) error {
	t.Helper()
	s, err := l.OpenAccounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.SignIn.CheckPassword(t.Context(), accounts.Credentials{Email: email, Password: password})
	return err
}

func TestCreateAccount(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		first := create(t, op, bob(nil))
		second := create(t, op, bob(func(a *operator.NewAccount) { a.Nick, a.UniqueNick = "J\u00fcrgen", "" }))
		other := create(t, op, bob(func(a *operator.NewAccount) { a.Partner, a.Namespace, a.Password = 10, 15, "other" }))
		if first.User != second.User || other.User == first.User || first.UniqueNickIn(1) != "BobU" {
			t.Errorf("created %+v, %+v, %+v", first, second, other)
		}
		if err := l.Store.AddBuddy(t.Context(), first.ID, other.ID); err != nil {
			t.Fatal(err)
		}
		if err := l.Store.AddBlock(t.Context(), second.ID, other.ID); err != nil {
			t.Fatal(err)
		}
		want := accounts.Account{ID: first.User, Email: "Bob@example.com", Profiles: []accounts.AccountProfile{
			{Profile: first, Buddies: []storage.ProfileID{other.ID}}, {Profile: second, Blocks: []storage.ProfileID{other.ID}},
		}}
		for name, ref := range map[string]operator.AccountRef{
			"id":          {ID: first.User},
			"e-mail":      {Email: "bob@EXAMPLE.com"},
			"unique nick": {UniqueNick: "bobu", Namespace: 1},
			"id first":    {ID: first.User, Email: "unknown@example.com"},
		} {
			got, err := operator.FindAccount.Call(t.Context(), op, ref)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(accounts.Account{}, "Created")); err != nil || diff != "" || got.Created.IsZero() {
				t.Errorf("FindAccount by %s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		if got, err := operator.FindAccount.Call(t.Context(), op, operator.AccountRef{Email: "bob@example.com", Partner: 10}); got.ID != other.User || err != nil {
			t.Errorf("FindAccount with partner 10 = %d, %v; want %d", got.ID, err, other.User)
		}
		for name, ref := range map[string]operator.AccountRef{
			"nothing": {}, "id": {ID: 4711}, "e-mail": {Email: "x@example.com"}, "unique nick": {UniqueNick: "BobU", Namespace: 2},
			"partner": {Email: "bob@example.com", Partner: 11},
		} {
			if _, err := operator.FindAccount.Call(t.Context(), op, ref); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("FindAccount by unknown %s: %v, want ErrNotFound", name, err)
			}
		}
	})
}

func TestCreateAccountRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, _ *operator.Local, op operator.Conn) {
		create(t, op, bob(nil))
		for name, change := range map[string]func(*operator.NewAccount){
			"same nick":        func(*operator.NewAccount) {},
			"wrong password":   func(a *operator.NewAccount) { a.Nick, a.Password = "B2", "guess" },
			"no e-mail":        func(a *operator.NewAccount) { a.Email = "bob" },
			"no password":      func(a *operator.NewAccount) { a.Email, a.Password = "b@example.com", "" },
			"unique nick used": func(a *operator.NewAccount) { a.Email = "b@example.com" },
			"negative partner": func(a *operator.NewAccount) { a.Email, a.UniqueNick, a.Partner = "b@example.com", "", -1 },
		} {
			_, err := operator.CreateAccount.Call(t.Context(), op, bob(change))
			if !errors.Is(err, operator.ErrBadRequest) || strings.Contains(err.Error(), "guess") {
				t.Errorf("%s: %v, want ErrBadRequest", name, err)
			}
		}
	})
}

func TestListAccounts(t *testing.T) {
	forBoth(t, func(t *testing.T, _ *operator.Local, op operator.Conn) {
		for i := range 7 {
			create(t, op, operator.NewAccount{Namespace: 1, Email: fmt.Sprintf("p%d@example.com", i), Nick: "Someone", UniqueNick: fmt.Sprintf("Un%dique", i), Password: "p"})
		}
		emails := func(q operator.AccountQuery) (out []string, next storage.UserID) {
			t.Helper()
			page, err := operator.ListAccounts.Call(t.Context(), op, q)
			if err != nil || page.LeftOut != 0 {
				t.Fatalf("ListAccounts(%+v): %v, %d left out", q, err, page.LeftOut)
			}
			for _, a := range page.Accounts {
				out = append(out, a.Email[:2])
			}
			return out, page.Next
		}
		one, next := emails(operator.AccountQuery{Limit: 3})
		two, next2 := emails(operator.AccountQuery{Limit: 3, After: next})
		three, last := emails(operator.AccountQuery{Limit: 3, After: next2})
		if diff := cmp.Diff([]string{"p0", "p1", "p2", "p3", "p4", "p5", "p6"}, slices.Concat(one, two, three)); diff != "" || last != 0 {
			t.Errorf("three pages, next %d (-want +got):\n%s", last, diff)
		}
		for match, want := range map[string][]string{
			"": {"p0", "p1", "p2", "p3", "p4", "p5", "p6"}, "SOME": {"p0", "p1", "p2", "p3", "p4", "p5", "p6"},
			"un3IQ": {"p3"}, "P4@": {"p4"}, "unknown": nil,
		} {
			if got, next := emails(operator.AccountQuery{Match: match}); !slices.Equal(got, want) || next != 0 {
				t.Errorf("accounts that match %q: %q, next %d; want %q", match, got, next, want)
			}
		}
	})
}

func TestSetPassword(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ended := kicks{}
		l.Sessions = ended
		p := create(t, op, bob(nil))
		s, err := l.OpenAccounts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ticket := s.Grants.IssueTicket(p.ID)
		if err := operator.SetPassword.Exec(t.Context(), op, operator.NewPassword{ID: p.User, Password: "new one"}); err != nil {
			t.Fatalf("SetPassword: %v", err)
		}
		if err := logsIn(t, l, "bob@example.com", "new one"); err != nil {
			t.Errorf("the new password: %v", err)
		}
		if err := logsIn(t, l, "bob@example.com", "hunter2!"); !errors.Is(err, accounts.ErrBadPassword) {
			t.Errorf("the old password: %v, want ErrBadPassword", err)
		}
		if _, err := s.Grants.CheckTicket(ticket); err == nil {
			t.Error("a ticket from before is still good")
		}
		if !errors.Is(ended[p.User], presence.ErrDisplaced) {
			t.Errorf("sessions ended: %v", ended)
		}
		if err := operator.SetPassword.Exec(t.Context(), op, operator.NewPassword{ID: p.User, Password: strings.Repeat("x", 31)}); !errors.Is(err, operator.ErrBadRequest) {
			t.Errorf("a password that is too long: %v, want ErrBadRequest", err)
		}
		if err := operator.SetPassword.Exec(t.Context(), op, operator.NewPassword{ID: 4711, Password: "x"}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("password of an unknown one: %v, want ErrNotFound", err)
		}
	})
}

func TestIssueReset(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		p := create(t, op, bob(nil))
		begin := time.Now()
		r, err := operator.IssueReset.Call(t.Context(), op, operator.AccountID{ID: p.User})
		page, code, _ := strings.Cut(r.Link, "#")
		if err != nil || page != l.ResetPage() || r.Expires.Sub(begin) < accounts.ResetLife || r.Expires.After(time.Now().Add(accounts.ResetLife)) {
			t.Errorf("IssueReset() = %+v, %v", r, err)
		}
		if id, err := accounts.ResetAccount(code); err != nil || id != p.User {
			t.Errorf("the link is for account %d, %v, want %d", id, err, p.User)
		}
		if r, err := operator.IssueReset.Call(t.Context(), op, operator.AccountID{ID: 4711}); !errors.Is(err, storage.ErrNotFound) || r.Link != "" {
			t.Errorf("IssueReset() of an unknown one = %+v, %v, want ErrNotFound", r, err)
		}
		l.ResetPage = func() string { return "" }
		if r, err := operator.IssueReset.Call(t.Context(), op, operator.AccountID{ID: p.User}); !errors.Is(err, operator.ErrBadRequest) || r.Link != "" {
			t.Errorf("IssueReset() without the page = %+v, %v, want ErrBadRequest", r, err)
		}
	})
}

func TestBanAccount(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ended := kicks{}
		l.Sessions = ended
		p := create(t, op, bob(nil))
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		if err := operator.BanAccount.Exec(t.Context(), op, operator.NewAccountBan{ID: p.User, Expires: until, Reason: "cheats", By: "me"}); err != nil {
			t.Fatalf("BanAccount: %v", err)
		}
		a, err := operator.FindAccount.Call(t.Context(), op, operator.AccountRef{ID: p.User})
		if err != nil || !a.Ban.Expires.Equal(until) || a.Ban.Reason != "cheats" || a.Ban.By != "me" || a.Ban.Added.IsZero() {
			t.Errorf("ban = %+v, %v", a.Ban, err)
		}
		if err := logsIn(t, l, "bob@example.com", "hunter2!"); !errors.Is(err, accounts.ErrBanned) {
			t.Errorf("login while banned: %v, want ErrBanned", err)
		}
		if !errors.Is(ended[p.User], presence.ErrBanned) {
			t.Errorf("sessions ended: %v", ended)
		}
		for range 2 {
			if err := operator.UnbanAccount.Exec(t.Context(), op, operator.AccountID{ID: p.User}); err != nil {
				t.Errorf("UnbanAccount: %v", err)
			}
		}
		if err := logsIn(t, l, "bob@example.com", "hunter2!"); err != nil {
			t.Errorf("login afterwards: %v", err)
		}
		for name, err := range map[string]error{
			"ban":   operator.BanAccount.Exec(t.Context(), op, operator.NewAccountBan{ID: 4711}),
			"unban": operator.UnbanAccount.Exec(t.Context(), op, operator.AccountID{ID: 4711}),
		} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("%s of an unknown one: %v, want ErrNotFound", name, err)
			}
		}
		if err := operator.BanAccount.Exec(t.Context(), op, operator.NewAccountBan{ID: p.User, Reason: strings.Repeat("x", 2000)}); err == nil {
			t.Error("a reason that is too long was taken")
		}
	})
}

func TestDeleteAccount(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ended := kicks{}
		l.Sessions = ended
		p := create(t, op, bob(nil))
		if err := operator.DeleteAccount.Exec(t.Context(), op, operator.AccountID{ID: p.User}); err != nil {
			t.Fatalf("DeleteAccount: %v", err)
		}
		if _, err := operator.FindAccount.Call(t.Context(), op, operator.AccountRef{UniqueNick: "BobU", Namespace: 1}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("FindAccount afterwards: %v, want ErrNotFound", err)
		}
		if !errors.Is(ended[p.User], presence.ErrDeleted) {
			t.Errorf("sessions ended: %v", ended)
		}
		if err := operator.DeleteAccount.Exec(t.Context(), op, operator.AccountID{ID: p.User}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("second DeleteAccount: %v, want ErrNotFound", err)
		}
	})
}

// decode reads an export.
func decode(t *testing.T, b []byte) (list []accounts.Account) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		var a accounts.Account
		if err := d.Decode(&a); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
}

func TestExportImport(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		one := create(t, op, bob(nil))
		two := create(t, op, bob(func(a *operator.NewAccount) { a.Email, a.UniqueNick = "c@example.com", "" }))
		for owner, buddy := range map[storage.ProfileID]storage.ProfileID{one.ID: two.ID, two.ID: one.ID} {
			if err := l.Store.AddBuddy(t.Context(), owner, buddy); err != nil {
				t.Fatal(err)
			}
		}
		var plain, secret bytes.Buffer
		if n, err := operator.ExportAccounts.Call(t.Context(), op, operator.AccountExport{Secrets: false}, &plain); n != 0 || err != nil {
			t.Fatalf("ExportAccounts: %d left out, %v", n, err)
		}
		if n, err := operator.ExportAccounts.Call(t.Context(), op, operator.AccountExport{Secrets: true}, &secret); n != 0 || err != nil {
			t.Fatalf("ExportAccounts with secrets: %d left out, %v", n, err)
		}
		if list := decode(t, plain.Bytes()); len(list) != 2 || list[0].MD5 != "" || strings.Contains(plain.String(), "password") {
			t.Errorf("export without secrets:\n%s", plain.String())
		}
		list := decode(t, secret.Bytes())
		for name, to := range map[string]operator.Conn{"local": newLocal(t), "client": serve(t, newLocal(t), testToken)} {
			out, err := operator.ImportAccounts.Call(t.Context(), to, operator.AccountImport{Accounts: list})
			if err != nil || len(out) != 2 || out[0].User != one.User || out[1].Profiles[0] != two.ID || out[0].Error != "" {
				t.Fatalf("%s: ImportAccounts = %+v, %v", name, out, err)
			}
			if err := operator.ImportBuddies.Exec(t.Context(), to, operator.AccountImport{Accounts: list}); err != nil {
				t.Fatalf("%s: ImportBuddies: %v", name, err)
			}
			a, err := operator.FindAccount.Call(t.Context(), to, operator.AccountRef{Email: "bob@example.com"})
			if err != nil || len(a.Profiles) != 1 || !slices.Equal(a.Profiles[0].Buddies, []storage.ProfileID{two.ID}) {
				t.Errorf("%s: imported %+v, %v", name, a, err)
			}
			if _, err := operator.CreateAccount.Call(t.Context(), to, bob(func(a *operator.NewAccount) { a.Nick, a.UniqueNick = "B2", "" })); err != nil {
				t.Errorf("%s: the password did not move: %v", name, err)
			}
			bad := list[1]
			bad.ID, bad.Email = 0, "no e-mail"
			out, err = operator.ImportAccounts.Call(t.Context(), to, operator.AccountImport{Accounts: []accounts.Account{list[0], bad}})
			if err != nil || len(out) != 2 || out[0].Error == "" || out[1].Error == "" {
				t.Errorf("%s: second import = %+v, %v; want both refused", name, out, err)
			}
		}
	})
}

func TestImportParts(t *testing.T) {
	long := func(n int) accounts.Account {
		return accounts.Account{Profiles: []accounts.AccountProfile{{Profile: storage.Profile{Nick: strings.Repeat("x", n)}}}}
	}
	const limit = 40_000 // more than MaxAccountPage empty accounts
	big := long(limit / 2)
	for name, tc := range map[string]struct {
		list []accounts.Account
		want []int
	}{
		"nothing": {nil, nil},
		"small":   {make([]accounts.Account, operator.MaxAccountPage+1), []int{operator.MaxAccountPage, 1}},
		"large":   {[]accounts.Account{big, {}, big, big, {}}, []int{2, 1, 2}},
		"huge":    {[]accounts.Account{long(2 * limit), {}}, []int{1, 1}},
	} {
		var got []int
		if err := operator.InParts(tc.list, limit, func(part []accounts.Account) error { got = append(got, len(part)); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: parts of %v, want %v", name, got, tc.want)
		}
	}
	broken := errors.New("broken")
	if err := operator.InParts(make([]accounts.Account, 2*operator.MaxAccountPage), operator.MaxImport, func([]accounts.Account) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a part that fails: %v", err)
	}
}

func TestRotateAccountKey(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		create(t, op, bob(nil))
		if n, err := operator.RotateAccountKey.Call(t.Context(), op, operator.None{}); n.Done != 1 || err != nil {
			t.Errorf("RotateAccountKey = %d, %v; want 1", n, err)
		}
		if err := logsIn(t, l, "bob@example.com", "hunter2!"); err != nil {
			t.Errorf("login afterwards: %v", err)
		}
	})
}

func TestWithoutAccounts(t *testing.T) {
	const noAccounts = "accounts are not served here"
	l := newLocal(t)
	l.OpenAccounts = nil
	for name, op := range map[string]operator.Conn{"local": l, "client": serve(t, l, testToken)} {
		ctx := t.Context()
		_, create := operator.CreateAccount.Call(ctx, op, bob(nil))
		_, imported := operator.ImportAccounts.Call(ctx, op, operator.AccountImport{Accounts: []accounts.Account{{}}})
		_, exported := operator.ExportAccounts.Call(ctx, op, operator.AccountExport{Secrets: false}, io.Discard)
		for what, err := range map[string]error{
			"create": create, "import": imported, "export": exported,
			"ban": operator.BanAccount.Exec(ctx, op, operator.NewAccountBan{ID: 1}), "password": operator.SetPassword.Exec(ctx, op, operator.NewPassword{ID: 1, Password: "x"}),
		} {
			if err == nil || err.Error() != noAccounts {
				t.Errorf("%s, %s: %v, want %s", name, what, err, noAccounts)
			}
		}
	}
}

func TestAccountRequestMistakes(t *testing.T) {
	l := newLocal(t)
	var log bytes.Buffer
	h := New(options(l, &log)).Handler()
	for request, body := range map[string]string{
		"POST /api/v1/accounts":                       `{"password": "sesame", "passwort": "sesame"}`,
		"POST /api/v1/accounts?":                      `{"password": ["sesame"]}`,
		"PUT /api/v1/accounts/1/password":             `"sesame"`,
		"PUT /api/v1/accounts/0/password":             `{"password": "sesame"}`,
		"PUT /api/v1/accounts/x/ban":                  `{}`,
		"PUT /api/v1/accounts/1/ban":                  `[]`,
		"DELETE /api/v1/accounts/-1":                  ``,
		"DELETE /api/v1/accounts/99999999999/ban":     ``,
		"GET /api/v1/accounts?limit=-1":               ``,
		"GET /api/v1/account?id=one":                  ``,
		"GET /api/v1/accounts/export?secrets=perhaps": ``,
		"POST /api/v1/accounts/import":                `{"accounts": [{"password_md5": 1}]}`,
		"POST /api/v1/accounts/import/buddies":        `{"accounts": 1}`,
	} {
		method, path, _ := strings.Cut(request, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+testToken)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest || strings.Contains(w.Body.String(), "sesame") {
			t.Errorf("%s %s: %d %s, want 400", request, body, w.Code, w.Body)
		}
	}
	if strings.Contains(log.String(), "sesame") {
		t.Errorf("the log has a password in it:\n%s", &log)
	}
}

// An interrupted export must not look like a complete one.
func TestClientExportCut(t *testing.T) {
	c := serve(t, &breaksOff{newLocal(t)}, testToken)
	var out bytes.Buffer
	if _, err := operator.ExportAccounts.Call(t.Context(), c, operator.AccountExport{Secrets: false}, &out); !errors.Is(err, errCut) || out.Len() == 0 {
		t.Errorf("ExportAccounts: %v after %d bytes, want %v", err, out.Len(), errCut)
	}
}

// breaksOff is an operator whose exports fail in the middle.
type breaksOff struct{ *operator.Local }

func (b *breaksOff) Write(_ context.Context, _ *operator.Operation, _ any, w io.Writer) (int, error) {
	if _, err := w.Write(bytes.Repeat([]byte("{}\n"), 64<<10)); err != nil {
		return 0, err
	}
	return 0, errors.New("the disk is on fire")
}

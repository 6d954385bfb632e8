package account

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
)

func TestAuditLog(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	user := f.user("ann@example.org").ID
	id := fmt.Sprint(f.profile("ann@example.org", "Ann").ID)
	send := func(path string, fields ...string) {
		b.get("/account") // with the form
		b.send(path, fields...)
	}
	send("/account/nick", "profile", id, "nick", "Anne")
	send("/account/nick", "profile", "999", "nick", "Unknown") // refused
	send("/account/uniquenick", "profile", id, "uniquenick", "anne2", "namespace", "2")
	send("/account/profile", "nick", "Second")
	send("/account/drop", "profile", fmt.Sprint(f.profile("ann@example.org", "Second").ID), "sure", "1")
	send("/account/email", "email", "anne@example.net", "password", "guess") // refused
	send("/account/email", "email", "anne@example.net", "password", "secret")
	send("/account/password", "password", "secret", "new", "better", "repeat", "better")
	send("/account/delete", "password", "better", "sure", "1")

	var got []string
	for e, err := range f.store.AuditLog(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Via != storage.ViaPlayer || e.From.String() != "127.0.0.1" || e.ID != uint32(user) {
			t.Errorf("entry %+v, want one of the player of account %d from 127.0.0.1", e, user)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, private := range []string{"example", "secret", "better", "guess"} {
			if strings.Contains(string(text), private) {
				t.Errorf("entry %s holds %q", text, private)
			}
		}
		got = append([]string{strings.TrimSpace(e.Action + " " + e.Subject)}, got...)
	}
	want := []string{
		"account.create Ann", "account.nick Ann", "account.uniquenick Anne", "account.profile_add Anne", "account.profile_remove Anne",
		"account.email Anne", "account.password Anne", "account.delete Anne",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit log, oldest first, -want +got:\n%s", diff)
	}
}

func TestAuditLogOfRegistration(t *testing.T) {
	f := newFixture(t)
	f.browser(near).register("ann@example.org", "Ann", "", "secret")
	f.browser(near).register("ann@example.org", "Second", "", "secret")
	n := 0
	for e, err := range f.store.AuditLog(t.Context(), 0) {
		n++
		if err != nil || e.Action != "account.create" || e.ID != uint32(f.user("ann@example.org").ID) {
			t.Errorf("entry %+v, want the creation of an account or profile", e)
		}
	}
	if n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

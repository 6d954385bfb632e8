package accounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

// brokenStore fails to read and to change accounts once a test breaks it.
type brokenStore struct {
	Store
	broken bool
}

func (b *brokenStore) GetUser(ctx context.Context, id storage.UserID) (storage.User, error) {
	if b.broken {
		return storage.User{}, errors.New("disk on fire")
	}
	return b.Store.GetUser(ctx, id)
}

// TestLogHoldsNoSecrets makes all kinds of changes and mistakes, with a store that
// fails in the end too, and searches the log and the errors.
func TestLogHoldsNoSecrets(t *testing.T) {
	var log bytes.Buffer
	dir := t.TempDir()
	store := &brokenStore{Store: openStore(t, filepath.Join(dir, "respawnd.db"))}
	s := openOver(t, store, Options{
		KeyFile: filepath.Join(dir, "account.key"), KeepPasswords: true, Log: zerolog.New(&log).Level(zerolog.TraceLevel),
	})
	r := alice()
	p := register(t, s, r)
	token, ticket := s.Grants.IssueToken(p.ID, 0, false), s.Grants.IssueTicket(p.ID)
	right, guess := byNick("AliceU", "rosebud"), byNick("AliceU", "guessed-password")
	run := func() {
		var errs []error
		note := func(_ any, err error) { errs = append(errs, err) }
		note(s.SignIn.CheckProof(t.Context(), right))
		for i := range MaxAccountFailures + 1 {
			guess.From = stranger(i)
			note(s.SignIn.CheckProof(t.Context(), guess))
		}
		note(s.SignIn.CheckProof(t.Context(), Proof{Token: token.Value, Response: "forged-response", From: elsewhere()}))
		note(s.SignIn.CheckProof(t.Context(), Proof{Ticket: ticket + "x", From: elsewhere()}))
		note(s.SignIn.CheckPassword(t.Context(), Credentials{Email: r.Email, Password: "guessed-password", From: elsewhere()}))
		note(s.Users.Register(t.Context(), r))
		note(s.Profiles.RegisterNick(t.Context(), p.ID, 1, "not legal"))
		note(nil, s.Profiles.RegisterCDKey(t.Context(), p.ID, "gmtest", "AAAA-BBBB-CCCC"))
		note(nil, s.Passwords.Change(t.Context(), p.User, "new-password"))
		note(nil, s.Passwords.ChangeEmail(t.Context(), p.User, "new@secret.example"))
		note(nil, s.Users.Ban(t.Context(), p.User, time.Time{}, "reason-of-the-ban", "operator"))
		note(nil, s.Users.Unban(t.Context(), p.User))
		note(s.Profiles.New(t.Context(), p.User, "SecondNick"))
		note(s.RotateKey(t.Context()))
		_, _ = fmt.Fprintln(&log, errs)
	}
	run()
	store.broken = true
	run()
	for _, secret := range []string{
		"rosebud", "guessed-password", "new-password", "forged-response", "AAAA-BBBB", "secret.example", "Example.com", "example.com",
		"Alice", "not legal", "SecondNick", token.Value, token.Challenge, ticket, right.Response, guess.Response, right.ClientChallenge,
	} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q in it:\n%s", secret, &log)
		}
	}
	for _, want := range []string{"account created", "is being guessed", "password changed", "disk on fire"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q in it:\n%s", want, &log)
		}
	}
}

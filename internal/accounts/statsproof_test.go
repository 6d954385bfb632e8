package accounts

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

// statsChallenge is the challenge of a recorded connection.
const statsChallenge = "DJyGLGKN"

// statsResponse returns the response of a client that knows the secret.
func statsResponse(secret string) string {
	sum := md5.Sum([]byte(secret + statsChallenge))
	return hex.EncodeToString(sum[:])
}

// proveStats completes a proof of a client that knows the secret.
func proveStats(p StatsProof, secret string) StatsProof {
	p.Challenge, p.Response = statsChallenge, statsResponse(secret)
	if !p.From.IsValid() {
		p.From = home()
	}
	return p
}

// wantStats checks that a proof is accepted as that profile.
func wantStats(t *testing.T, s *Service, what string, p StatsProof, want storage.Profile) {
	t.Helper()
	l, err := s.SignIn.CheckStatsProof(t.Context(), p)
	if err != nil || l.Profile.ID != want.ID || l.User != want.User {
		t.Errorf("%s: CheckStatsProof() = profile %d of %d, %v, want %d of %d", what, l.Profile.ID, l.User, err, want.ID, want.User)
	}
}

// wantNoStats checks that a proof is refused.
func wantNoStats(t *testing.T, s *Service, what string, p StatsProof, want Refusal) {
	t.Helper()
	_, err := s.SignIn.CheckStatsProof(t.Context(), p)
	wantRefusal(t, what, err, want)
}

func TestCheckStatsProof_recorded(t *testing.T) {
	s := open(t, Options{KeepPasswords: true})
	r := alice()
	r.Password = "mypassword"
	p := register(t, s, r)
	for challenge, response := range map[string]string{ // of an original client
		"DJyGLG|N": "74606ff56bfbd11c580185e6e1d56dc3",
		"DJyGLG|O": "550d1d62dfd0d30cc7074fe389ae81dd",
		"DJyGLGKN": "e3c62cf7f9f6ac9e32d4bff65b827dce",
		"DxtLwy}K": "623c27db31eec5d5b923b60166869d47",
		"tICwM{HQ": "d79e7d67c3a57a6720c8e9fcbb2d5283",
	} {
		proof := StatsProof{Profile: p.ID, Challenge: challenge, Response: response, From: home()}
		wantStats(t, s, challenge, proof, p)
		proof.Challenge = "otherone"
		wantNoStats(t, s, "replayed", proof, ErrBadPassword)
	}
}

func TestSamePassword(t *testing.T) {
	s := open(t, Options{KeepPasswords: true})
	p := register(t, s, alice())
	l, err := s.SignIn.CheckStatsProof(t.Context(), proveStats(StatsProof{Profile: p.ID}, "rosebud"))
	if err != nil {
		t.Fatal(err)
	}
	same := func() bool {
		u, err := s.store.GetUser(t.Context(), p.User)
		if err != nil {
			t.Fatal(err)
		}
		return s.SignIn.SamePassword(&l, &u)
	}
	if !same() {
		t.Error("SamePassword() = false with the same password")
	}
	if _, err := s.RotateKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !same() {
		t.Error("SamePassword() = false with another key")
	}
	if err := s.Passwords.ChangeEmail(t.Context(), p.User, "other@example.com"); err != nil {
		t.Fatal(err)
	}
	if !same() {
		t.Error("SamePassword() = false with another e-mail address")
	}
	if err := s.Passwords.Change(t.Context(), p.User, "orchid"); err != nil {
		t.Fatal(err)
	}
	if same() {
		t.Error("SamePassword() = true with another password")
	}
}

func TestCheckStatsProof_password(t *testing.T) {
	s := open(t, Options{KeepPasswords: true})
	p := register(t, s, alice())
	second, err := s.Profiles.New(t.Context(), p.User, "Second")
	if err != nil {
		t.Fatal(err)
	}
	right := proveStats(StatsProof{Profile: p.ID}, "rosebud")
	wantStats(t, s, "right", right, p)
	wantStats(t, s, "another profile of the account", proveStats(StatsProof{Profile: second.ID}, "rosebud"), second)
	capital := right
	capital.Response = capitals(right.Response)
	wantStats(t, s, "capital letters", capital, p)
	short := right
	short.Response = right.Response[:31]
	for name, tc := range map[string]struct {
		proof StatsProof
		want  Refusal
	}{
		"wrong password":    {proveStats(StatsProof{Profile: p.ID}, "Rosebud"), ErrBadPassword},
		"digest for secret": {proveStats(StatsProof{Profile: p.ID}, secretOf("rosebud")), ErrBadPassword},
		"no response":       {StatsProof{Profile: p.ID, Challenge: statsChallenge, From: home()}, ErrBadPassword},
		"short response":    {short, ErrBadPassword},
		"unknown profile":   {proveStats(StatsProof{Profile: 999}, "rosebud"), ErrBadProfile},
		"nothing":           {proveStats(StatsProof{}, "rosebud"), ErrMalformed},
	} {
		wantNoStats(t, s, name, tc.proof, tc.want)
	}
	if err := s.Profiles.Delete(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	wantNoStats(t, s, "deleted profile", proveStats(StatsProof{Profile: second.ID}, "rosebud"), ErrProfileDeleted)
	if err := s.Passwords.Change(t.Context(), p.User, "new"); err != nil {
		t.Fatal(err)
	}
	wantNoStats(t, s, "old password", right, ErrBadPassword)
	if err := s.Users.Ban(t.Context(), p.User, time.Time{}, "spam", "admin"); err != nil {
		t.Fatal(err)
	}
	wantNoStats(t, s, "banned", proveStats(StatsProof{Profile: p.ID}, "new"), ErrBanned)
	wantNoStats(t, s, "banned, wrong password", proveStats(StatsProof{Profile: p.ID}, "rosebud"), ErrBadPassword)
}

func TestCheckStatsProof_limits(t *testing.T) {
	s := open(t, Options{KeepPasswords: true})
	p := register(t, s, alice())
	for range MaxFailures {
		wantNoStats(t, s, "guess", proveStats(StatsProof{Profile: p.ID, From: elsewhere()}, "guess"), ErrBadPassword)
	}
	wantNoStats(t, s, "the right password after guesses", proveStats(StatsProof{Profile: p.ID, From: elsewhere()}, "rosebud"), ErrThrottled)
	wantStats(t, s, "from home", proveStats(StatsProof{Profile: p.ID}, "rosebud"), p)
	_, err := s.SignIn.CheckPassword(t.Context(), Credentials{Email: alice().Email, Password: "rosebud", From: elsewhere()})
	wantRefusal(t, "sign-in after guesses at the statistics service", err, ErrThrottled)
	for range MaxAddressFailures {
		_, _ = s.SignIn.CheckStatsProof(t.Context(), proveStats(StatsProof{Profile: 999, From: elsewhere()}, "guess"))
	}
	for _, unknown := range []StatsProof{{Profile: 999}, {Token: "unknown"}, {KeyHash: secretOf("x"), Game: "gmtest", Nick: "Alice"}} {
		unknown.From = elsewhere()
		wantNoStats(t, s, "an address with too many failures", unknown, ErrThrottled)
	}
}

func TestCheckStatsProof_notKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		dir := t.TempDir()
		s := openOver(t, openStore(t, filepath.Join(dir, "respawnd.db")), Options{
			KeyFile: filepath.Join(dir, "account.key"), Log: zerolog.New(&log).Level(zerolog.WarnLevel),
		})
		p := register(t, s, alice())
		other := alice()
		other.Email, other.UniqueNick = "b@b.c", ""
		q := register(t, s, other)
		lines := func() int { return strings.Count(log.String(), "not kept") }
		for range 3 * MaxFailures { // no failure of the player
			wantNoStats(t, s, "only the digest", proveStats(StatsProof{Profile: p.ID}, "rosebud"), ErrNotKept)
		}
		if lines() != 1 || !strings.Contains(log.String(), "accounts.keep_passwords to true") {
			t.Errorf("log %q, want one line that names the key", log.String())
		}
		wantNoStats(t, s, "another account", proveStats(StatsProof{Profile: q.ID}, "rosebud"), ErrNotKept)
		time.Sleep(time.Hour)
		wantNoStats(t, s, "an hour later", proveStats(StatsProof{Profile: p.ID}, "rosebud"), ErrNotKept)
		if lines() != 3 {
			t.Errorf("log %q, want a line for each account and hour", log.String())
		}
	})
	t.Run("kept at the next sign-in", func(t *testing.T) {
		digests, keeps := openTwice(t)
		p := register(t, digests, alice())
		proof := proveStats(StatsProof{Profile: p.ID}, "rosebud")
		wantNoStats(t, keeps, "before", proof, ErrNotKept)
		if _, err := keeps.SignIn.CheckPassword(t.Context(), Credentials{Email: alice().Email, Password: "rosebud", From: home()}); err != nil {
			t.Fatal(err)
		}
		wantStats(t, keeps, "after", proof, p)
	})
}

func TestCheckStatsProof_token(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	token := s.Grants.IssueToken(p.ID, time.Minute, false)
	wantStats(t, s, "right", proveStats(StatsProof{Token: token.Value, Profile: 999}, token.Challenge), p)
	wantStats(t, s, "again", proveStats(StatsProof{Token: token.Value}, token.Challenge), p)
	wantNoStats(t, s, "wrong challenge", proveStats(StatsProof{Token: token.Value}, "other"), ErrBadPassword)
	wantNoStats(t, s, "unknown", proveStats(StatsProof{Token: "TOKEN123"}, "other"), ErrBadToken)
	once := s.Grants.IssueToken(p.ID, time.Minute, true)
	wantStats(t, s, "once", proveStats(StatsProof{Token: once.Value}, once.Challenge), p)
	wantNoStats(t, s, "twice", proveStats(StatsProof{Token: once.Value}, once.Challenge), ErrBadToken)
	if err := s.Users.Ban(t.Context(), p.User, time.Time{}, "spam", "admin"); err != nil {
		t.Fatal(err)
	}
	wantNoStats(t, s, "banned", proveStats(StatsProof{Token: token.Value}, token.Challenge), ErrBanned)
}

func TestCheckStatsProof_cdKey(t *testing.T) {
	s := open(t, Options{KeepPasswords: true})
	p := register(t, s, alice())
	second, err := s.Profiles.New(t.Context(), p.User, "Second")
	if err != nil {
		t.Fatal(err)
	}
	other := alice()
	other.Email, other.Nick, other.UniqueNick = "b@b.c", "Other", ""
	register(t, s, other)
	const key = "AAAA-bbbb-1234"
	if err := s.Profiles.RegisterCDKey(t.Context(), p.ID, "GMtest", key); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RotateKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := func(nick string) StatsProof {
		return proveStats(StatsProof{KeyHash: secretOf(key), Nick: nick, Game: "gmtest"}, key)
	}
	wantStats(t, s, "nick", of("alice"), p)
	wantStats(t, s, "unique nick", of("aliceu"), p)
	wantStats(t, s, "other profile of the account", of("Second"), second)
	wantNoStats(t, s, "nick of another account", of("Other"), ErrBadProfile)
	wantNoStats(t, s, "no nick", of(""), ErrBadProfile)
	wrong := of("Alice")
	wrong.Game = "other"
	wantNoStats(t, s, "other game", wrong, ErrBadProfile)
	wantNoStats(t, s, "another key", proveStats(StatsProof{KeyHash: secretOf("CCCC"), Nick: "Alice", Game: "gmtest"}, "CCCC"), ErrBadProfile)
	wantNoStats(t, s, "hash for key", proveStats(StatsProof{KeyHash: secretOf(key), Nick: "Alice", Game: "gmtest"}, secretOf(key)), ErrBadPassword)
	wantNoStats(t, s, "password for key", proveStats(StatsProof{KeyHash: secretOf(key), Nick: "Alice", Game: "gmtest"}, "rosebud"), ErrBadPassword)
	for range MaxFailures {
		guess := proveStats(StatsProof{KeyHash: secretOf(key), Nick: "Alice", Game: "gmtest", From: elsewhere()}, "guess")
		wantNoStats(t, s, "guess", guess, ErrBadPassword)
	}
	late := of("Alice")
	late.From = elsewhere()
	wantNoStats(t, s, "after guesses", late, ErrThrottled)
	if err := s.Users.Ban(t.Context(), p.User, time.Time{}, "spam", "admin"); err != nil {
		t.Fatal(err)
	}
	wantNoStats(t, s, "banned", of("Alice"), ErrBanned)
}

func TestCheckStatsProof_cdKeyNotKept(t *testing.T) {
	digests, keeps := openTwice(t)
	p := register(t, digests, alice())
	const key = "AAAA-bbbb-1234"
	proof := proveStats(StatsProof{KeyHash: secretOf(key), Nick: "Alice", Game: "gmtest"}, key)
	registerKey := func(s *Service, key string) {
		t.Helper()
		if err := s.Profiles.RegisterCDKey(t.Context(), p.ID, "gmtest", key); err != nil {
			t.Fatal(err)
		}
	}
	registerKey(digests, key)
	wantNoStats(t, keeps, "registered without", proof, ErrCDKeyNotKept)
	registerKey(keeps, "aaaa bbbb 1234") // the same key, but clients will send another MD5
	wantNoStats(t, keeps, "spelt in another way", proof, ErrCDKeyNotKept)
	registerKey(keeps, key)
	wantStats(t, keeps, "registered again", proof, p)

	t.Run("record of a version without hashes", func(t *testing.T) {
		old, err := keeps.store.GetProfile(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		old.CDKeys[0].Hash, old.CDKeys[0].Sealed = "", nil
		if _, err := keeps.store.UpdateProfile(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		wantNoStats(t, keeps, "before", proof, ErrBadProfile)
		registerKey(keeps, key)
		wantStats(t, keeps, "registered again", proof, p)
	})
}

func TestProfileByCDKeyHash(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	if err := s.Profiles.RegisterCDKey(t.Context(), p.ID, "gmtest", "AAAA-BBBB"); err != nil {
		t.Fatal(err)
	}
	hash := secretOf("AAAA-BBBB")
	for _, hash := range []string{hash, capitals(hash)} {
		if got, err := s.Profiles.ByCDKeyHash(t.Context(), "GMTEST", "ALICE", hash); err != nil || got.ID != p.ID {
			t.Errorf("ProfileByCDKeyHash() = %d, %v, want %d", got.ID, err, p.ID)
		}
	}
	for name, args := range map[string][3]string{
		"other game": {"other", "Alice", hash}, "other nick": {"gmtest", "Bob", hash}, "other key": {"gmtest", "Alice", secretOf("AAAA")},
		"no hash": {"gmtest", "Alice", ""}, "no game": {"", "Alice", hash}, "long game": {strings.Repeat("g", 200), "Alice", hash},
	} {
		_, err := s.Profiles.ByCDKeyHash(t.Context(), args[0], args[1], args[2])
		wantRefusal(t, name, err, ErrBadProfile)
	}
	u, err := s.store.GetProfile(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if k := u.CDKeys[0]; strings.Contains(fmt.Sprint(k), hash) || k.Hash == "" || len(k.Sealed) != 0 {
		t.Errorf("stored CD key %v, want no MD5 of it and no sealed key", k)
	}
}
